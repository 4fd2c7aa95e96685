package jobs

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/cronce/cronce/internal/hosts"
	"github.com/cronce/cronce/jobs/internal/field"
)

// CheckEnv returns the problems of the environment in which calls are made: missing or
// invalid base URLs, secrets, and URLs of key stores. It is separate from Load, so that
// a registry can be checked where its secrets are not available. No message contains
// the value of a variable.
func (r *Registry) CheckEnv(lookup func(string) (string, bool)) Problems {
	env := &environment{report: newReport(r.file, r.places), lookup: lookup}
	for _, t := range r.Targets() {
		if !OwnAddress(t.Name) {
			env.checkTarget(r, t)
		}
	}
	for i, c := range r.channels {
		env.checkChannel(fmt.Sprintf("notifications[%d]", i), c)
	}
	if r.heartbeat != (Heartbeat{}) {
		env.url("heartbeat.urlEnv", r.heartbeat.URLEnv, ownURL)
	}
	for _, j := range r.jobs {
		if urlEnv := j.shared.HeartbeatURLEnv; urlEnv != "" && !j.shared.Disabled {
			env.jobIDs[jobPath(j.entry)] = j.ID
			env.url(jobPath(j.entry)+".heartbeat.urlEnv", urlEnv, ownURL)
		}
	}
	if r.cleanup.DisabledBecause == "" {
		for i, s := range r.stores {
			env.value(fmt.Sprintf("keyStores[%d].urlEnv", i), s.URLEnv)
		}
	}
	return env.found()
}

type environment struct {
	*report
	lookup func(string) (string, bool)
}

func (e *environment) checkTarget(r *Registry, t Target) {
	if strings.HasPrefix(t.Name, "env:") {
		path, used := r.implied[t.Name]
		if !used {
			return // only disabled jobs have it
		}
		job, _, _ := strings.Cut(path, ".")
		e.jobIDs[job] = r.idAt(job)
		e.url(path, t.URLEnv, baseURL)
		return
	}
	path := targetPath(t.Name)
	kind := baseURL
	if t.AllowHTTP {
		kind = openURL
	}
	e.url(path+".urlEnv", t.URLEnv, kind)
	if t.Auth.Type == AuthOAuth2 {
		e.url(path+".auth.tokenUrlEnv", t.Auth.TokenURLEnv, tokenURL)
	}
	for _, f := range t.Auth.secrets() {
		if f.of == t.Auth.Type && f.secret != (Secret{}) {
			e.secret(f.at(path+".auth"), f)
		}
	}
	for _, f := range t.TLS.secrets() {
		if f.secret != (Secret{}) {
			e.secret(f.at(path+".tls"), f)
		}
	}
}

func (e *environment) checkChannel(path string, c Channel) {
	if c.URLEnv != "" {
		e.url(path+".urlEnv", c.URLEnv, ownURL)
	}
	for _, f := range c.secrets() {
		if f.secret != (Secret{}) {
			e.secret(path+"."+f.name, f)
		}
	}
}

func (r *Registry) idAt(path string) string {
	for _, e := range slices.Concat(r.templates, r.jobs) {
		if e.entry != builtinEntry && jobPath(e.entry) == path {
			return e.ID
		}
	}
	return ""
}

func (e *environment) value(path, name string) (string, bool) {
	value, set := e.lookup(name)
	switch {
	case !validVariable(name): // of a registry that is not sound; said already
		return "", false
	case !set:
		e.Add(path, CodeUnsetVariable, "the environment variable %s is not set", name)
	case value == "":
		e.Add(path, CodeUnsetVariable, "the environment variable %s is empty", name)
	}
	return value, value != ""
}

// A urlKind is the purpose of the URL in a variable.
type urlKind struct {
	http  string // why an http URL of another machine is refused; "": it is allowed
	query bool   // whether it may have a query
}

var (
	baseURL  = urlKind{http: "calls and tokens would travel unencrypted; use https, or declare the target with allowHTTP: true"}
	openURL  = urlKind{} // of a target with allowHTTP
	tokenURL = urlKind{query: true,
		http: "the client's secret and the tokens would travel unencrypted; use https (allowHTTP does not apply to a token endpoint)"}
	// ownURL is the address of a channel or a heartbeat.
	ownURL = urlKind{http: "what cronce sends would travel unencrypted; use https", query: true}
)

// url checks the URL in a variable.
func (e *environment) url(path, name string, kind urlKind) {
	value, ok := e.value(path, name)
	if !ok {
		return
	}
	code, why := badURL(value, kind)
	if code != "" {
		e.Add(path, code, "the environment variable %s %s (its value is not shown)", name, why)
	}
}

// badURL says what is wrong with a URL, in words that do not repeat it.
func badURL(value string, kind urlKind) (code, why string) {
	u, err := url.Parse(value)
	switch {
	case err != nil || !field.VisibleASCII(value) || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return CodeBadURL, "must hold a URL such as https://membership.example.com"
	case !hosts.Valid(u.Hostname()) || !hosts.ValidPort(u.Port()):
		return CodeBadURL, "holds a URL whose host or port cannot exist: the host must be a DNS name or an IP address, the port 1 to 65535"
	case u.User != nil:
		return CodeBadURL, "holds a URL with a user or password; say who calls with auth"
	case strings.Contains(value, "#"):
		return CodeBadURL, "holds a URL with a fragment (#...); remove it"
	case u.Scheme == "http" && kind.http != "" && !hosts.Loopback(u.Hostname()):
		return CodeInsecureURL, "holds an http URL to another machine: " + kind.http
	case strings.Contains(value, "?") && !kind.query:
		return CodeBadURL, "holds a URL with a query; a base URL has none"
	}
	if err := hosts.CheckPath(u.EscapedPath()); err != nil {
		return CodeBadURL, "holds a URL whose path " + err.Error()
	}
	return "", ""
}

// secret: what ends in a newline or has a space in it was pasted wrongly, and
// would break the header that it goes into.
func (e *environment) secret(path string, f authField) {
	if f.secret.File == "" && !validVariable(f.secret.Env) { // of a registry that is not sound; said already
		return
	}
	at := path + ".env"
	if f.secret.File != "" {
		at = path + ".file"
	}
	var p Problem
	if _, err := f.read(e.lookup); errors.As(err, &p) {
		e.Add(at, p.Code, "%s", p.Message)
	}
}
