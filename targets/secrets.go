package targets

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

const (
	// redacted stands for a code that repeats a secret.
	redacted = "redacted"
	// shortest is the least number of letters and digits of a secret that are
	// taken for a part of it; what has fewer in all says nothing.
	shortest = 4
	// window is the number of letters and digits in a row of a secret that are enough to
	// be taken for a part of it within a longer text.
	window = 8
)

// safeCode returns a problem code, or that it is not shown: a target, or a proxy on
// the way, can repeat the credentials that it was sent.
func (t *Targets) safeCode(code string, carried []string) string {
	switch code {
	case "", codeInProgress, codeMismatch, codeTooLate:
		return code
	}
	return t.redact(code, carried)
}

// reveals reports whether a text that a peer sent repeats one of this process's
// secrets or what a call carried, or a part of one, in any usual encoding.
func (t *Targets) reveals(text string, carried []string) bool {
	if text = letters(text); len(text) < shortest {
		return false
	}
	for _, target := range t.byName {
		if repeats(text, target.secrets()) {
			return true
		}
	}
	// What a call carried is long, and new for each call: a short text is in it by chance.
	return len(text) >= window && repeats(text, carried)
}

// repeats reports whether a text of letters has a part of one of the secrets.
func repeats(text string, secrets []string) bool {
	for _, secret := range secrets {
		for _, form := range forms(secret) {
			if overlap(text, letters(form)) {
				return true
			}
		}
	}
	return false
}

// secrets returns the secrets in the target's credentials and in its URL.
func (to *target) secrets() []string {
	return append(to.signer.secrets(), secretsOf(to.base)...)
}

// signaturesOf returns the tokens and signatures in a request that were made for it alone, so that
// they are no secrets of a target: with one, anybody can repeat the call while it is valid.
func signaturesOf(h http.Header) []string {
	_, token, _ := strings.Cut(h.Get("Authorization"), " ")
	if _, signature, found := strings.Cut(token, "Signature="); found { // the rest names fields
		token = signature
	}
	return []string{token, h.Get("Webhook-Signature")}
}

// secretsOf returns the parts of a URL that may be secret: what its query has, without
// the names of values, and what looks drawn among those names and the segments of its
// path, as webhooks have.
func secretsOf(u *url.URL) (out []string) {
	if u == nil {
		return nil
	}
	for pair := range strings.FieldsFuncSeq(u.RawQuery, func(r rune) bool { return r == '&' || r == ';' }) {
		name, value, _ := strings.Cut(pair, "=")
		if value == "" || drawn(name) {
			out = append(out, name, unescaped(name))
		}
		out = append(out, value, unescaped(value))
	}
	for segment := range strings.SplitSeq(u.Path, "/") {
		if drawn(segment) {
			out = append(out, segment)
		}
	}
	return out
}

// drawn reports whether a text looks like a random one.
func drawn(text string) bool {
	return len(text) >= 10 && strings.ContainsAny(text, "0123456789")
}

// unescaped returns a part of a query as a receiver reads it; "" if it has a bad escape.
func unescaped(part string) string {
	text, _ := url.QueryUnescape(part)
	return text
}

// forms returns a secret and its usual encodings. Within a longer text, base64 has
// one of three forms, by what stands before.
func forms(secret string) []string {
	quoted, _ := json.Marshal(secret) // of a string never fails
	list := []string{secret, url.QueryEscape(secret), url.PathEscape(secret), string(quoted), hex.EncodeToString([]byte(secret))}
	for before := range 3 {
		coded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + secret))
		whole := coded[(before*8+5)/6:] // without what is not of the secret alone
		list = append(list, whole[:max(len(whole)-1, 0)])
	}
	return list
}

// letters leaves the letters and digits of a text, in lower case: what a peer
// puts between them, or makes of the others, does not hide a secret.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return -1
	}, s)
}

// overlap reports whether one of the texts has a part of the other.
func overlap(text, secret string) bool {
	if len(text) < shortest || len(secret) < shortest {
		return false
	}
	n := min(len(text), len(secret), window)
	for i := range len(text) - n + 1 {
		if strings.Contains(secret, text[i:i+n]) {
			return true
		}
	}
	return false
}
