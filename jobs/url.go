package jobs

import (
	"net/url"
	"strings"

	"github.com/cronce/cronce/internal/hosts"
	"github.com/cronce/cronce/internal/plaintext"
)

// BaseURL returns the URL under which the target's paths are: that of URLEnv, or URL.
// Only that of a channel or a heartbeat may have a query. Errors are of type Problem and
// never contain a value.
func (t Target) BaseURL(lookup func(string) (string, bool)) (*url.URL, error) {
	if t.URLEnv == "" && t.URL != "" {
		return t.urlKind().parse("the address of target "+t.Name, t.URL)
	}
	return t.urlKind().read(t.URLEnv, lookup)
}

// TokenURL returns the URL in TokenURLEnv. Errors are of type Problem and never contain
// a value.
func (a Auth) TokenURL(lookup func(string) (string, bool)) (*url.URL, error) {
	return tokenURL.read(a.TokenURLEnv, lookup)
}

// A urlKind is the purpose of a URL.
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

// urlKind returns which URLs the target can have.
func (t Target) urlKind() urlKind {
	switch {
	case OwnAddress(t.Name):
		return ownURL
	case t.AllowHTTP:
		return openURL
	}
	return baseURL
}

func (k urlKind) read(variable string, lookup func(string) (string, bool)) (*url.URL, error) {
	s := Secret{Env: variable}
	value, err := s.Read(lookup)
	if err != nil {
		return nil, err
	}
	return k.parse(s.String(), value)
}

// parse reads an absolute URL. Its errors name the place of the value and do not show it.
func (k urlKind) parse(place, value string) (*url.URL, error) {
	u, err := url.Parse(value)
	code, why := CodeBadURL, ""
	switch {
	case err != nil || !plaintext.VisibleASCII(value) || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		why = "must hold a URL such as https://membership.example.com"
	case !hosts.Valid(u.Hostname()) || !hosts.ValidPort(u.Port()):
		why = "holds a URL whose host or port cannot exist: the host must be a DNS name or an IP address, the port 1 to 65535"
	case u.User != nil:
		why = "holds a URL with a user or password; say who calls with auth"
	case strings.Contains(value, "#"):
		why = "holds a URL with a fragment (#...); remove it"
	case u.Scheme == "http" && k.http != "" && !hosts.Loopback(u.Hostname()):
		code, why = CodeInsecureURL, "holds an http URL to another machine: "+k.http
	case strings.Contains(value, "?") && !k.query:
		why = "holds a URL with a query; a base URL has none"
	default:
		if err := hosts.CheckPath(u.EscapedPath()); err != nil {
			why = "holds a URL whose path " + err.Error()
		}
	}
	if why != "" {
		return nil, problemOf(code, "%s %s (its value is not shown)", place, why)
	}
	return u, nil
}
