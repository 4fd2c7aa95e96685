package jobs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
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
			_, err := Secret{Env: s.URLEnv}.Read(lookup)
			env.note(fmt.Sprintf("keyStores[%d].urlEnv", i), err)
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
	e.url(path+".urlEnv", t.URLEnv, t.urlKind())
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

// url checks the URL in a variable.
func (e *environment) url(path, name string, kind urlKind) {
	if validVariable(name) { // else the registry is not sound; said already
		_, err := kind.read(name, e.lookup)
		e.note(path, err)
	}
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
	_, err := f.read(e.lookup)
	e.note(at, err)
}

func (e *environment) note(path string, err error) {
	var p Problem
	if errors.As(err, &p) {
		e.Add(path, p.Code, "%s", p.Message)
	}
}
