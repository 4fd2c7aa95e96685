package importer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// wgetOptions are wget's options that the importer knows.
var wgetOptions = optionsOf(`
	method= header= post-data= body-data= post-file= body-file= user= http-user= password= http-password=
	auth-no-challenge timeout/T= connect-timeout= read-timeout= dns-timeout= tries/t= waitretry= retry-connrefused
	retry-on-http-error= quiet/q no-verbose verbose/v output-document/O= output-file/o= append-output/a= spider
	server-response/S show-progress delete-after content-on-error debug/d progress= directory-prefix/P=
	no-check-certificate ca-certificate= max-redirect= user-agent/U= referer= no-cache no-proxy no-cookies no-hsts
	inet4-only/4 inet6-only/6 https-only secure-protocol= certificate= private-key= load-cookies= input-file/i=
	recursive/r mirror/m execute/e=`)

// wgetRefused are options without which the call would be another one.
var wgetRefused = []string{"post-file", "body-file", "certificate", "private-key", "load-cookies", "input-file", "recursive", "mirror",
	"execute"}

type wget struct {
	*tool
	tries          int
	user, password word
	spider         bool
}

func (e *entry) readWget(words []word) error {
	// GNU wget writes -nv and -nc with one dash.
	words = slices.DeleteFunc(slices.Clone(words), func(w word) bool {
		text, _ := w.literal(nil)
		return text == "-nv" || text == "-nc"
	})
	g := &wget{tool: &tool{entry: e, name: "wget"}, tries: 20} // wget's default
	f := &flags{words: words, options: wgetOptions, accept: g.accept, other: g.setURL}
	if err := f.read(); err != nil {
		return err
	}
	return g.finish()
}

func (g *wget) accept(name string, value word) error {
	if slices.Contains(wgetRefused, name) {
		return fmt.Errorf("wget --%s cannot be taken over", name)
	}
	switch name {
	case "header":
		field, value, err := g.field(value)
		if err != nil {
			return err
		}
		g.header(field, value)
	case "post-data", "body-data":
		g.call.data, g.call.hasData = []word{value}, true
		if name == "post-data" {
			g.call.method = "POST"
		}
	case "user", "http-user":
		g.user = value
	case "password", "http-password":
		g.password = value
	case "spider":
		g.spider = true
	case "quiet", "no-verbose", "verbose", "output-document", "output-file", "append-output", "server-response", "show-progress",
		"delete-after", "content-on-error", "debug", "progress", "directory-prefix":
		g.quiet = true
	default:
		return g.acceptText(name, value)
	}
	return nil
}

// acceptText reads the options whose values must be known.
func (g *wget) acceptText(name string, value word) error {
	text, err := g.text(name, value)
	if err != nil {
		return err
	}
	var d time.Duration
	switch name {
	case "method":
		g.call.method = strings.ToUpper(text)
	case "timeout", "read-timeout":
		d, err = seconds(text)
		g.limit(d)
	case "tries":
		g.tries, err = strconv.Atoi(text)
	case "ca-certificate":
		g.call.ca = text
	case "no-check-certificate":
		g.note(Network,
			"--no-check-certificate is not taken over; cronce verifies certificates (tls: { ca: { file: ... } } names your own authority)")
	case "user-agent", "referer", "no-cache":
		g.note(Headers, "--%s is not taken over", name)
	case "auth-no-challenge", "retry-connrefused", "no-cookies", "no-hsts":
	default:
		g.note(Network, "--%s is not taken over", name)
	}
	return g.unread(name, err)
}

// finish applies what options mean together.
func (g *wget) finish() error {
	switch {
	case g.call.method == "" && g.spider:
		g.call.method = "HEAD"
	case g.call.method == "":
		g.call.method = "GET"
	}
	if g.user != nil || g.password != nil {
		g.call.user, g.call.hasUser = append(append(append(word{}, g.user...), literal(":")...), g.password...), true
	}
	g.note(Network, "wget follows redirects; cronce follows none, so write the final URL")
	if g.tries != 1 {
		g.note(Retries, "wget asks again after lost connections only; the job retries unclear and temporary failures, as cronce does by default")
	} else {
		g.noRetries()
	}
	return g.end("ca-certificate")
}
