package idempotency

import (
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"unicode/utf8"
)

// DefaultPolicy is the default of Options.Policy. It returns Commit for 2xx and 3xx. It
// returns StoreReply for answers that the same request would get again: 400, 404, 410,
// 413, 415 and 422. It returns Release for all others, so that the request can be
// retried.
func DefaultPolicy(status int) Disposition {
	switch {
	case status >= 200 && status < 400:
		return Commit
	case status == http.StatusBadRequest, status == http.StatusNotFound, status == http.StatusGone,
		status == http.StatusRequestEntityTooLarge, status == http.StatusUnsupportedMediaType,
		status == http.StatusUnprocessableEntity:
		return StoreReply
	default:
		return Release
	}
}

// replayed are the headers that belong to the stored representation, rather
// than to the exchange in which it was made.
var replayed = []string{
	"Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language", "Content-Location",
	"Content-Type", "Etag", "Expires", "Last-Modified", "Link", "Location", "Vary",
}

// neverReplayed belong to one exchange or one client.
var neverReplayed = map[string]bool{
	"Set-Cookie": true, "Date": true, "Connection": true, "Keep-Alive": true, "Proxy-Authenticate": true,
	"Proxy-Connection": true, "Te": true, "Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
	"Content-Length": true, "Www-Authenticate": true, "Authorization": true,
}

// replayable are the canonical names of the headers that are replayed: the
// default ones and more.
func replayable(more []string) (names []string) {
	for _, name := range slices.Concat(replayed, more) {
		if name = textproto.CanonicalMIMEHeaderKey(name); !neverReplayed[name] {
			names = append(names, name)
		}
	}
	return names
}

// storedHeader picks what is replayed of a handler's header; nil: nothing. Not
// every database can keep what is not text, and none would give it back byte for
// byte.
func storedHeader(h http.Header, names []string) (stored http.Header) {
	if len(h) == 0 {
		return nil
	}
	for _, name := range names {
		// A name without values is kept: it keeps net/http from guessing one.
		if values, set := h[name]; set && !slices.ContainsFunc(values, notText) {
			if stored == nil {
				stored = http.Header{}
			}
			stored[name] = values
		}
	}
	return stored
}

func notText(value string) bool {
	return !utf8.ValidString(value) || strings.ContainsRune(value, 0)
}
