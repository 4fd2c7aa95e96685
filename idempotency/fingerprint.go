package idempotency

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// fingerprintVersion is the first part of every fingerprint. A change of what
// is hashed, or how, is a new version.
const fingerprintVersion = "v1:"

// requestFingerprint is what makes two requests the same: method, host without
// port, path, query (parameters in any order, the values of one in theirs),
// content type and body. A media type counts by its meaning, and so does a body
// of JSON or of several parts.
func requestFingerprint(r *http.Request, body []byte) string {
	kind, body := canonicalPayload(r.Header.Get("Content-Type"), body)
	text := make([]byte, 0, 1024) // on the stack
	text = appendPart(text, r.Method)
	text = appendPart(text, strings.ToLower((&url.URL{Host: r.Host}).Hostname()))
	text = appendPart(text, sentPath(r))
	text = appendPart(text, canonicalQuery(r.URL.RawQuery))
	text = appendPart(text, kind)
	return fingerprint(appendPart(text, body))
}

// sentPath is the path that the client sent, with the prefixes that routers
// have taken off.
func sentPath(r *http.Request) string {
	if path, _, _ := strings.Cut(r.RequestURI, "?"); strings.HasPrefix(path, "/") {
		return path
	}
	return r.URL.EscapedPath() // no server read the request, or its target is a whole URL
}

// readBefore reports whether somebody read the request's body before the
// middleware did: less of it is left than was announced, or nothing of a form.
// A request that announces no length (in chunks, or of HTTP/2) and has no body
// left counts as read, since nothing tells it from one that was empty.
// A body that was sent with a content coding may be shorter because somebody
// has decoded it.
func readBefore(r *http.Request, body []byte) bool {
	if len(body) == 0 {
		return r.ContentLength != 0 || len(r.PostForm) > 0 || r.MultipartForm != nil
	}
	return int64(len(body)) < r.ContentLength && r.Header.Get("Content-Encoding") == ""
}

// payloadFingerprint is the same for Do and Call.
func payloadFingerprint(payload any) (string, error) {
	switch p := payload.(type) {
	case nil:
		return fingerprint(nil), nil
	case []byte:
		return fingerprint(appendPart(nil, canonicalText(p))), nil
	case string:
		return fingerprint(appendPart(nil, canonicalText([]byte(p)))), nil
	default:
		text, err := json.Marshal(p)
		if err != nil {
			return "", err
		}
		return fingerprint(appendPart(nil, canonicalText(text))), nil
	}
}

// appendPart adds a part with its length before it, so that no two lists of
// parts run together.
func appendPart[T string | []byte](text []byte, part T) []byte {
	text = append(strconv.AppendInt(text, int64(len(part)), 10), ':')
	return append(text, part...)
}

// fingerprint hashes parts that stand one behind the other.
func fingerprint(parts []byte) string {
	digest := sha256.Sum256(parts)
	text := make([]byte, 0, len(fingerprintVersion)+2*len(digest))
	return string(hex.AppendEncode(append(text, fingerprintVersion...), digest[:]))
}

func canonicalQuery(raw string) string {
	if raw == "" {
		return ""
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return raw
	}
	return values.Encode()
}
