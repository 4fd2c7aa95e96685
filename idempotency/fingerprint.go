package idempotency

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// fingerprintVersion is the first part of every fingerprint. A change of what
// is hashed, or how, is a new version.
const fingerprintVersion = "v1:"

// requestFingerprint is what makes two requests the same: method, path, query
// (parameters in any order, the values of one in theirs), content type and
// body. A JSON body counts by its meaning.
func requestFingerprint(r *http.Request, body []byte) string {
	kind, isJSON := contentType(r.Header.Get("Content-Type"))
	return fingerprint([]byte(r.Method), []byte(r.URL.EscapedPath()),
		[]byte(canonicalQuery(r.URL.RawQuery)), []byte(kind), canonicalBody(body, isJSON))
}

// readBefore reports whether somebody read the request's body before the
// middleware did: of a length that was announced, or a form, nothing is left.
func readBefore(r *http.Request, body []byte) bool {
	return len(body) == 0 && (r.ContentLength > 0 || len(r.PostForm) > 0 || r.MultipartForm != nil)
}

// payloadFingerprint is the same for Do and Call.
func payloadFingerprint(payload any) (string, error) {
	switch p := payload.(type) {
	case nil:
		return fingerprint(), nil
	case []byte:
		return fingerprint(canonicalBody(p, true)), nil
	case string:
		return fingerprint(canonicalBody([]byte(p), true)), nil
	default:
		text, err := json.Marshal(p)
		if err != nil {
			return "", err
		}
		return fingerprint(canonicalBody(text, true)), nil
	}
}

// fingerprint hashes the parts with their lengths, so that no two lists of
// parts run together.
func fingerprint(parts ...[]byte) string {
	h := sha256.New()
	var length []byte
	for _, p := range parts {
		length = append(strconv.AppendInt(length[:0], int64(len(p)), 10), ':')
		h.Write(length)
		h.Write(p)
	}
	return fingerprintVersion + hex.EncodeToString(h.Sum(nil))
}

func canonicalBody(body []byte, isJSON bool) []byte {
	if isJSON {
		if text, ok := canonicalJSON(body); ok {
			return text
		}
	}
	return body
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

// contentType writes the header in one way and says whether it is JSON.
func contentType(header string) (kind string, isJSON bool) {
	if header == "application/json" {
		return header, true
	}
	media, params, err := mime.ParseMediaType(header)
	if err != nil {
		return header, false
	}
	return mime.FormatMediaType(media, params), media == "application/json" || strings.HasSuffix(media, "+json")
}
