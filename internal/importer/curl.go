package importer

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// curlOptions are curl's options that the importer knows.
var curlOptions = map[string]option{
	"request": valued, "header": valued, "data": valued, "data-raw": valued, "data-ascii": valued, "data-binary": valued, "json": valued,
	"get": bare, "head": bare, "user": valued, "oauth2-bearer": valued, "url": valued, "cookie": valued,
	"max-time": valued, "connect-timeout": valued, "retry": valued, "retry-delay": valued, "retry-max-time": valued,
	"retry-all-errors": bare, "retry-connrefused": bare, "fail": bare, "fail-with-body": bare, "fail-early": bare,
	"location": bare, "location-trusted": bare, "max-redirs": valued, "insecure": bare, "cacert": valued,
	"cert": valued, "key": valued, "proxy": valued, "noproxy": valued, "resolve": valued, "connect-to": valued, "interface": valued,
	"dns-servers": valued,
	"ipv4":        bare, "ipv6": bare, "http1.0": bare, "http1.1": bare, "http2": bare, "http3": bare, "tlsv1.2": bare, "tlsv1.3": bare,
	"proto":       valued,
	"tcp-nodelay": bare, "no-keepalive": bare, "keepalive-time": valued, "limit-rate": valued, "speed-limit": valued, "speed-time": valued,
	"silent": bare, "show-error": bare, "verbose": bare, "output": valued, "remote-name": bare, "include": bare, "write-out": valued,
	"no-buffer": bare, "no-progress-meter": bare, "progress-bar": bare, "compressed": bare, "stderr": valued, "trace": valued,
	"trace-ascii": valued,
	"user-agent":  valued, "referer": valued, "basic": bare, "globoff": bare, "disable": bare, "dump-header": valued,
	"form": valued, "form-string": valued, "data-urlencode": valued, "upload-file": valued, "config": valued, "netrc": bare,
	"netrc-file": valued,
	"next":       bare, "aws-sigv4": valued, "unix-socket": valued, "digest": bare, "ntlm": bare, "negotiate": bare, "anyauth": bare,
	"cookie-jar": valued,
}

var curlShort = map[byte]string{
	'X': "request", 'H': "header", 'd': "data", 'G': "get", 'I': "head", 'u': "user", 'b': "cookie", 'm': "max-time",
	'f': "fail", 'L': "location", 'k': "insecure", 'E': "cert", 'x': "proxy", '4': "ipv4", '6': "ipv6", '0': "http1.0",
	's': "silent", 'S': "show-error", 'v': "verbose", 'o': "output", 'O': "remote-name", 'i': "include", 'w': "write-out",
	'N': "no-buffer", '#': "progress-bar", 'A': "user-agent", 'e': "referer", 'F': "form", 'T': "upload-file", 'K': "config",
	'n': "netrc", 'g': "globoff", 'q': "disable", 'c': "cookie-jar", 'D': "dump-header", 'Y': "speed-limit", 'y': "speed-time",
}

// curlRefused are options without which the call would be another one.
var curlRefused = map[string]string{
	"form": "a multipart form", "form-string": "a multipart form", "data-urlencode": "a form", "upload-file": "an upload",
	"config": "a file of options", "netrc": "a password file", "netrc-file": "a password file", "next": "several requests",
	"aws-sigv4": "an AWS signature; use a target with auth type sigv4", "unix-socket": "a Unix socket",
	"cert": "a client certificate; use a target with tls: { cert, key }", "key": "a client certificate; use a target with tls: { cert, key }",
	"digest": "digest authentication", "ntlm": "NTLM authentication", "negotiate": "Kerberos authentication",
	"anyauth": "authentication by negotiation",
}

// curlQuiet are options about what is printed, which cronce has no use for.
var curlQuiet = []string{"silent", "show-error", "verbose", "output", "remote-name", "include", "write-out", "no-buffer",
	"no-progress-meter",
	"progress-bar", "compressed", "stderr", "trace", "trace-ascii", "dump-header", "cookie-jar"}

// curl is a command line of curl while it is read.
type curl struct {
	*tool
	stdin      string
	retries    int
	delay      time.Duration
	fails      bool
	headOnly   bool
	ownMethod  string
	jsonHeader bool
}

func (e *entry) readCurl(words []word, stdin string) error {
	c := &curl{tool: &tool{entry: e, name: "curl"}, stdin: stdin}
	f := &flags{words: words, long: curlOptions, short: curlShort, accept: c.accept, other: c.setURL}
	if err := f.read(); err != nil {
		return err
	}
	return c.finish()
}

func (c *curl) setURL(w word) error {
	if text, _ := w.expand(nil); strings.ContainsAny(text, "{}[]") {
		return errors.New("the URL has a pattern ({} or []) that curl expands; give each URL a job")
	}
	return c.tool.setURL(w)
}

func (c *curl) accept(name string, value word) error {
	if why, refused := curlRefused[name]; refused {
		return fmt.Errorf("curl --%s is %s, which cannot be taken over", name, why)
	}
	switch name {
	case "url":
		return c.setURL(value)
	case "header":
		return c.addHeader(value)
	case "data", "data-raw", "data-ascii", "data-binary", "json":
		return c.addData(name, value)
	case "get":
		c.call.query = true
	case "head":
		c.headOnly = true
	case "user":
		c.call.user, c.call.hasUser = value, true
	case "oauth2-bearer":
		c.header("Authorization", append(literal("Bearer "), value...))
	case "cookie":
		if _, _, pairs := value.cut('='); !pairs {
			return errors.New("curl --cookie reads a file, which cannot be taken over")
		}
		c.header("Cookie", value)
	case "fail", "fail-with-body":
		c.fails = true
	default:
		return c.acceptText(name, value)
	}
	return nil
}

// acceptText reads the options whose values must be known.
func (c *curl) acceptText(name string, value word) error {
	text, err := c.text(name, value)
	if err != nil {
		return err
	}
	var d time.Duration
	switch name {
	case "request":
		c.ownMethod = strings.ToUpper(text)
	case "max-time":
		d, err = seconds(text)
		c.limit(d)
	case "retry":
		c.retries, err = strconv.Atoi(text)
	case "retry-delay":
		c.delay, err = seconds(text)
	case "connect-timeout":
		c.note(Timeout, "--connect-timeout is not taken over; timeout limits the whole attempt")
	case "retry-max-time":
		c.note(Retries, "--retry-max-time is not taken over; the list of waits ends the retries")
	case "insecure":
		c.note(Network, "--insecure is not taken over; cronce verifies certificates (tls: { ca: { file: ... } } names your own authority)")
	case "cacert":
		c.call.ca = text
	case "location", "location-trusted", "max-redirs":
		c.note(Network, "--%s is not taken over; cronce follows no redirect, so write the final URL", name)
	case "user-agent", "referer":
		c.note(Headers, "--%s is not taken over", name)
	case "retry-all-errors", "retry-connrefused", "fail-early", "basic", "globoff", "disable":
	default:
		if slices.Contains(curlQuiet, name) {
			c.quiet = true
			return nil
		}
		c.note(Network, "--%s is not taken over", name)
	}
	return c.unread(name, err)
}

func (c *curl) addHeader(w word) error {
	text, value, err := c.field(w)
	if err != nil {
		return err
	}
	if strings.EqualFold(text, "content-type") {
		c.jsonHeader = true
	}
	if len(value) == 0 {
		c.note(Headers, "the header %s is removed in the source; this is not taken over", printable(text))
		return nil
	}
	c.header(text, value)
	return nil
}

func (c *curl) addData(name string, w word) error {
	if text, _ := w.expand(nil); name != "data-raw" && strings.HasPrefix(text, "@") {
		if text != "@-" || c.stdin == "" {
			return fmt.Errorf("curl --%s reads the body from a file; put the JSON into the command", name)
		}
		w = literal(c.stdin)
	}
	if name == "json" {
		c.call.jsonType = true
	}
	c.call.data, c.call.hasData = append(c.call.data, w), true
	return nil
}

// finish applies what options mean together.
func (c *curl) finish() error {
	c.call.method = "GET"
	switch {
	case c.ownMethod != "":
		c.call.method = c.ownMethod
	case c.headOnly:
		c.call.method = "HEAD"
	case c.call.hasData && !c.call.query:
		c.call.method = "POST"
	}
	switch {
	case c.retries <= 0:
		c.noRetries()
	case c.delay > 0:
		c.retry(c.retries, c.delay, c.delay)
	default:
		c.retry(c.retries, time.Second, 10*time.Minute)
	}
	if !c.fails {
		c.note(Retries, "without --fail, curl takes an error answer for a success; cronce does not: the run is retried or dead")
	}
	return c.end("cacert")
}
