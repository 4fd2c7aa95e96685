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
var curlOptions = optionsOf(`
	request/X= header/H= data/d= data-raw= data-ascii= data-binary= json= get/G head/I user/u= oauth2-bearer= url=
	cookie/b= max-time/m= connect-timeout= retry= retry-delay= retry-max-time= retry-all-errors retry-connrefused fail/f
	fail-with-body fail-early location/L location-trusted max-redirs= insecure/k cacert= cert/E= key= proxy/x= noproxy=
	resolve= connect-to= interface= dns-servers= ipv4/4 ipv6/6 http1.0/0 http1.1 http2 http3 tlsv1.2 tlsv1.3 proto=
	tcp-nodelay no-keepalive keepalive-time= limit-rate= speed-limit/Y= speed-time/y= silent/s show-error/S verbose/v
	output/o= remote-name/O include/i write-out/w= no-buffer/N no-progress-meter progress-bar/# compressed stderr= trace=
	trace-ascii= user-agent/A= referer/e= basic globoff/g disable/q dump-header/D= form/F= form-string= data-urlencode=
	upload-file/T= config/K= netrc/n netrc-file= next aws-sigv4= unix-socket= digest ntlm negotiate anyauth cookie-jar/c=`)

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
	stdin     string
	retries   int
	delay     time.Duration
	fails     bool
	headOnly  bool
	ownMethod string
}

func (e *entry) readCurl(words []word, stdin string) error {
	c := &curl{tool: &tool{entry: e, name: "curl"}, stdin: stdin}
	f := &flags{words: words, options: curlOptions, accept: c.accept, other: c.setURL}
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

// accept applies an option. One without which the call would be another one is an error.
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
	if len(value) == 0 { // curl then leaves out a header that it would add by itself
		c.note(Headers, "the header %s is removed in the source; this is not taken over", printable(text))
		return nil
	}
	c.header(text, value)
	return nil
}

// addData adds a part of the body. A file is not read: the importer may run on another machine.
func (c *curl) addData(name string, w word) error {
	if text, _ := w.expand(nil); name != "data-raw" && strings.HasPrefix(text, "@") {
		if text != "@-" || c.stdin == "" { // a crontab has the standard input after the %
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
	default: // curl's own waits
		c.retry(c.retries, time.Second, 10*time.Minute)
	}
	if !c.fails {
		c.note(Retries, "without --fail, curl takes an error answer for a success; cronce does not: the run is retried or dead")
	}
	return c.end("cacert")
}
