package targets

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/cronce/cronce/internal/hosts"
	"github.com/cronce/cronce/jobs"
)

// ParseBase reads a target's base URL from the environment variable env. Only that
// of a channel or a heartbeat may have a query. Its errors name the variable and never
// show the value.
func ParseBase(env, value string, of jobs.Target) (*url.URL, error) {
	remedy := ", or set allowHTTP on the target if the network between is trusted"
	if jobs.OwnAddress(of.Name) {
		remedy = ""
	}
	u, err := parseEndpoint(env, value, of.AllowHTTP, remedy)
	if err != nil {
		return nil, err
	}
	if (u.RawQuery != "" || u.ForceQuery) && !jobs.OwnAddress(of.Name) {
		return nil, bad(jobs.CodeBadURL, "%s must have no query: put it into the job's path", env)
	}
	return u, nil
}

// parseEndpoint reads an absolute http or https URL without user information
// and fragment. The remedy says what can be used instead of https.
func parseEndpoint(env, value string, allowHTTP bool, remedy string) (*url.URL, error) {
	u, err := url.Parse(value)
	switch {
	case err != nil || !visible(value):
		return nil, bad(jobs.CodeBadURL, "%s is not a URL: set it to something like https://host or https://host/prefix", env)
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return nil, bad(jobs.CodeBadURL, "%s must be an absolute https URL, like https://host/prefix", env)
	case !hosts.Valid(u.Hostname()) || !hosts.ValidPort(u.Port()):
		return nil, bad(jobs.CodeBadURL, "%s names a host or port that cannot exist: the host must be a DNS name or an IP address, the port 1 to 65535", env)
	case u.User != nil:
		return nil, bad(jobs.CodeBadURL, "%s must hold no user name or password: give the credentials under the target's auth", env)
	case strings.Contains(value, "#"):
		return nil, bad(jobs.CodeBadURL, "%s must have no fragment (#...)", env)
	case u.Scheme == "http" && !allowHTTP && !hosts.Loopback(u.Hostname()):
		return nil, bad(jobs.CodeInsecureURL, "%s is plain http to another machine: use https%s", env, remedy)
	}
	if err := hosts.CheckPath(u.EscapedPath()); err != nil {
		return nil, bad(jobs.CodeBadURL, "the path in %s %v", env, err)
	}
	return u, nil
}

// bad is a problem with a variable, as an error.
func bad(code, format string, args ...any) error {
	return jobs.Problem{Code: code, Message: fmt.Sprintf(format, args...)}
}

// join puts a call's path and query under a base URL: what is escaped stays
// escaped, and the query is kept byte by byte, after that of the base. A path that
// could leave the base's prefix or host is refused.
func join(base *url.URL, target string) (*url.URL, error) {
	path, query, asked := strings.Cut(target, "?")
	if err := hosts.CheckPath(path); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(path, "/") {
		return nil, errors.New("does not begin with a slash")
	}
	if asked && query != "" && (!visible(query) || strings.Contains(query, "#")) {
		return nil, errors.New("has a query with characters that need percent-encoding, or a #")
	}
	plain, err := url.PathUnescape(path)
	if err != nil {
		return nil, errors.New("has a bad percent-encoding")
	}
	u := *base
	u.RawPath = strings.TrimSuffix(base.EscapedPath(), "/") + path
	u.Path = strings.TrimSuffix(base.Path, "/") + plain
	u.RawQuery = joinQueries(base.RawQuery, query)
	return &u, nil
}

// joinQueries puts a query after another one.
func joinQueries(first, second string) string {
	if first == "" || second == "" || strings.HasSuffix(first, "&") {
		return first + second
	}
	return first + "&" + second
}

// visible reports whether s is one or more visible ASCII characters: what may
// stand in a header field or a request line and cannot end it.
func visible(s string) bool {
	for i := range len(s) {
		if s[i] < '!' || s[i] > '~' {
			return false
		}
	}
	return s != ""
}
