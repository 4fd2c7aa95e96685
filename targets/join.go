package targets

import (
	"errors"
	"net/url"
	"strings"

	"github.com/cronce/cronce/internal/hosts"
	"github.com/cronce/cronce/internal/plaintext"
)

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
func visible(s string) bool { return s != "" && plaintext.VisibleASCII(s) }
