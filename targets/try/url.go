package try

import (
	"encoding/json"
	"errors"
	"net/url"
	"time"

	"github.com/cronce/cronce/internal/hosts"
	"github.com/cronce/cronce/jobs"
)

// AdHocTarget is a target to try that is in no registry.
type AdHocTarget struct {
	URL, Method string
	Path        string // path and query, appended to URL; empty: URL is the whole address
	Body        string // JSON; empty: the body that jobs send
	TokenEnv    string // a variable that holds a bearer token; empty: none
	Timeout     time.Duration
}

// urlVariable is the variable in which the registry of an AdHocTarget finds its address.
const urlVariable = "TRIED_URL"

// Registry returns a registry with one job that calls the target, the configuration of the
// trial, and a lookup function that extends the given one by the variables of the registry.
func (u AdHocTarget) Registry(lookup func(string) (string, bool)) (*jobs.Registry, Config, func(string) (string, bool), error) {
	base, path, err := u.split()
	if err != nil {
		return nil, Config{}, nil, err
	}
	target := jobs.Target{Name: "tried", URLEnv: urlVariable}
	if u.TokenEnv != "" {
		target.Auth = jobs.Auth{Type: jobs.AuthBearer, Token: jobs.Secret{Env: u.TokenEnv}}
	}
	j := jobs.Job{ID: "try", Schedule: "@yearly", Target: target.Name, Method: u.Method, Path: path, Timeout: u.Timeout}
	if u.Body != "" {
		if !json.Valid([]byte(u.Body)) {
			return nil, Config{}, nil, errors.New("the body is not JSON")
		}
		j.Body = json.RawMessage(u.Body)
	}
	if err := (Config{Job: j}).Validate(); err != nil { // in words of a trial, not of a registry
		return nil, Config{}, nil, err
	}
	reg, err := jobs.NewRegistry(jobs.Name("cronce-try"), target, j)
	if err != nil {
		return nil, Config{}, nil, err
	}
	j, _ = reg.Job(j.ID)
	return reg, Config{Job: j, Name: base}, func(name string) (string, bool) {
		if name == urlVariable {
			return base, true
		}
		return lookup(name)
	}, nil
}

// split divides the URL into a base and the path of the call.
func (u AdHocTarget) split() (base, path string, err error) {
	at, err := url.Parse(u.URL)
	switch {
	case err != nil, at.Host == "", at.Scheme != "http" && at.Scheme != "https":
		return "", "", errors.New("the URL must look like https://membership.example.com/v1/payments")
	case !hosts.Valid(at.Hostname()) || !hosts.ValidPort(at.Port()):
		return "", "", errors.New("the URL's host or port cannot exist: the host must be a DNS name or an IP address, the port 1 to 65535")
	case at.Scheme == "http" && !hosts.Loopback(at.Hostname()):
		return "", "", errors.New("the URL is plain http to another machine; use https, or try a job whose target has allowHTTP")
	case at.User != nil:
		return "", "", errors.New("the URL must hold no user or password; name a variable that holds a token with --token-env")
	case u.Path != "":
		return u.URL, u.Path, nil
	}
	path = at.EscapedPath()
	if path == "" {
		path = "/"
	}
	if at.RawQuery != "" {
		path += "?" + at.RawQuery
	}
	return (&url.URL{Scheme: at.Scheme, Host: at.Host}).String(), path, nil
}
