package targets

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"

	"github.com/cronce/cronce/internal/hosts"
	"github.com/cronce/cronce/jobs"
)

// EnvironmentProxy returns http.ProxyFromEnvironment. Its error, a [jobs.Problems], is a
// variable that names no proxy: the standard library leaves such a one out, and calls that
// were to go through the proxy would go around it.
func EnvironmentProxy(lookup func(string) (string, bool)) (func(*http.Request) (*url.URL, error), error) {
	var problems jobs.Problems
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		if value, _ := lookup(name); value != "" && !validProxy(value) {
			problems = append(problems, jobs.Problem{Code: jobs.CodeBadURL,
				Message: name + " is not the URL of a proxy; use one such as http://proxy.example:3128, or unset it"})
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return http.ProxyFromEnvironment, nil
}

// validProxy reads a proxy's address as the standard library does: the scheme may be left
// out.
func validProxy(value string) bool {
	u, err := url.Parse(value)
	if err != nil || u.Host == "" {
		u, err = url.Parse("http://" + value)
	}
	return err == nil && slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) &&
		hosts.Valid(u.Hostname()) && hosts.ValidPort(u.Port()) && (u.Path == "" || u.Path == "/") && u.RawQuery == "" && !u.ForceQuery &&
		u.Fragment == ""
}

// proxy asks for a request's proxy. What goes through one is checked by its host
// alone: the proxy looks the address up.
func (e *egress) proxy(of func(*http.Request) (*url.URL, error)) func(*http.Request) (*url.URL, error) {
	if of == nil {
		return nil
	}
	return func(r *http.Request) (*url.URL, error) {
		u, err := of(r)
		if err != nil {
			return nil, &notAllowed{"the proxy's address cannot be read; check HTTPS_PROXY and HTTP_PROXY"}
		}
		if u == nil {
			return nil, nil
		}
		e.proxies.Store(proxyAddress(u), true)
		host := r.URL.Hostname()
		if addr, err := netip.ParseAddr(host); err == nil {
			return u, e.check(host, addr)
		}
		if len(e.names)+len(e.networks) > 0 && !e.named(host) {
			return nil, &notAllowed{"the target's host is not allowed by its name (--allow-target), and a proxy looks its address up"}
		}
		return u, nil
	}
}

func proxyAddress(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	}
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// proxyError is the error of a request that went through a proxy and got no answer.
type proxyError struct {
	address string
	err     error
}

func (e *proxyError) Error() string { return "through the proxy " + e.address + ": " + e.err.Error() }
func (e *proxyError) Unwrap() error { return e.err }

// connectError is a proxy's refusal to connect to a target.
type connectError int

func (status connectError) Error() string {
	why := "it does not connect to the target"
	if status == http.StatusProxyAuthRequired {
		why = "it asks for credentials; check those in HTTPS_PROXY"
	}
	return fmt.Sprintf("HTTP %d to CONNECT: %s", int(status), why)
}

// connected refuses a proxy's answer to CONNECT. The standard library's error would be
// the answer's own words.
func connected(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
	if answer.StatusCode != http.StatusOK {
		return connectError(answer.StatusCode)
	}
	return nil
}
