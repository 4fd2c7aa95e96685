package importer

import (
	"cmp"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/cronce/cronce/internal/plaintext"
	"github.com/cronce/cronce/jobs"
)

// What tells a secret from other values: a name that holds one, or a form that few others have.
var (
	// secretName matches names of fields, parameters and headers that hold secrets.
	secretName = regexp.MustCompile(`(?i)(auth|token|secret|passw|pwd|api[-_]?key|access[-_]?key|private[-_]?key|credential|signature|session|cookie|jwt|licen[sc]e|(^|[-_.])(key|pin)$|(?-i:[a-z]Key$)|^sig$|^code$|^pass$)`)
	// secretPrefix matches what well-known issuers put in front of their secrets.
	secretPrefix = regexp.MustCompile(`^(sk_|pk_live|rk_|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AKIA|ASIA|eyJ|whsec_|ya29\.|SG\.|Bearer |Basic )`)
	tokenLike    = regexp.MustCompile(`^[A-Za-z0-9_+/=.~-]{20,}$`)
	// oneCase matches keys that are written in digits of base 16, 32 or 36, also behind a hyphen.
	oneCase = regexp.MustCompile(`\b([0-9a-z]{20,}|[0-9A-Z]{20,})\b`)
	// hook matches hosts and paths of webhooks and pings: who knows their URL may call them.
	// Their keys are shorter, or UUIDs, which elsewhere name things.
	hook    = regexp.MustCompile(`(?i)hook|\bping\b|heartbeat|snch|cronitor|ntfy`)
	hookKey = regexp.MustCompile(`^([0-9A-Za-z]{16,}|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})$`)
	// shortKey matches the keys after the host of a webhook, and words; camelCase matches
	// words alone.
	shortKey  = regexp.MustCompile(`^[0-9A-Za-z]{7,}$`)
	camelCase = regexp.MustCompile(`^[A-Z]?[a-z]{2,}([A-Z][a-z]{2,})*$`)
	account   = regexp.MustCompile(`^[0-9]{5,}$`)
)

// looksSecret reports whether a value has the form of a secret, whatever it is called.
func looksSecret(value string) bool {
	mixed := func(key string) bool { return turns(key) >= 5 }
	if secretPrefix.MatchString(value) || slices.ContainsFunc(oneCase.FindAllString(value, -1), mixed) {
		return true
	}
	return tokenLike.MatchString(value) && strings.ContainsAny(value, "0123456789") &&
		strings.ToLower(value) != value && strings.ToUpper(value) != value
}

// turns counts how often letters and digits take turns, which tells a key from words with
// a number behind them.
func turns(value string) (n int) {
	for i := 1; i < len(value); i++ {
		if (value[i] <= '9') != (value[i-1] <= '9') {
			n++
		}
	}
	return n
}

// secretQuery returns the name of a query parameter that looks like a secret.
func secretQuery(query string) string {
	values, err := url.ParseQuery(query)
	if err != nil { // what a form would not have cannot be searched
		return "(not shown)"
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if secretName.MatchString(name) || slices.ContainsFunc(values[name], looksSecret) {
			return printable(name)
		}
	}
	return ""
}

// secretSegment returns the number of the first segment of a URL's path that looks like a
// secret; 0 for none.
func secretSegment(host, path string) int {
	secret := looksSecret
	if hook.MatchString(host + path) {
		secret = func(part string) bool { return looksSecret(part) || hookKey.MatchString(part) && turns(part) > 0 }
	}
	before := ""
	for i, segment := range strings.Split(strings.TrimPrefix(path, "/"), "/") {
		parts := strings.FieldsFunc(segment, func(r rune) bool { return strings.ContainsRune(":;@,", r) })
		if slices.ContainsFunc(append(parts, segment), secret) || hook.MatchString(host) && secretAfterHook(before, segment) {
			return i + 1
		}
		before = segment
	}
	return 0
}

// secretAfterHook reports whether a segment of a URL whose host is for webhooks may be
// their key: letters and digits, letters of both cases that are no words, or what
// follows the number of an account.
func secretAfterHook(before, segment string) bool {
	if !shortKey.MatchString(segment) || account.MatchString(segment) {
		return false
	}
	words := camelCase.MatchString(segment) || strings.ToUpper(segment) == segment && turns(segment) == 0
	return account.MatchString(before) || turns(segment) > 0 || !words
}

// secretField returns the name of a field anywhere in a JSON value that looks like a
// secret. A value without a name is called "value".
func secretField(value any) string {
	switch v := value.(type) {
	case string:
		if looksSecret(v) {
			return "value"
		}
	case []any:
		for _, item := range v {
			if field := secretField(item); field != "" {
				return field
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if secretName.MatchString(name) && mayBeSecret(v[name]) || looksSecret(name) {
				return printable(name)
			}
			if field := secretField(v[name]); field == "value" {
				return printable(name)
			} else if field != "" {
				return field
			}
		}
	}
	return ""
}

// mayBeSecret reports whether a value under the name of a secret can be one. A number of fewer than four
// digits rather counts something. The fields of an object have names of their own.
func mayBeSecret(value any) bool {
	switch v := value.(type) {
	case string:
		return v != ""
	case float64:
		return v >= 1000
	case []any:
		return slices.ContainsFunc(v, mayBeSecret)
	}
	return false
}

// printable returns the name of a field, or a placeholder if the name looks like a secret or
// has characters that a terminal does not show.
func printable(name string) string {
	if looksSecret(name) || len(name) > 64 || !plaintext.Is(name) {
		return "(not shown)"
	}
	return name
}

// auth is a target's authorization: for each field the variable that holds it.
type auth struct {
	kind    string // a type of the registry; "" for none
	fields  map[string]string
	headers map[string]string
	sigv4   [2]string
	holds   map[string]string // what each variable holds, by its name
}

func (a auth) names() []string { return slices.Sorted(maps.Keys(a.holds)) }

// credentials tell targets apart: equal slices mean equal authorization. They hold
// secrets.
func (c *call) credentials() []string {
	words := []word{c.user}
	out := []string{c.sigv4[0], c.sigv4[1]}
	for _, h := range c.headers {
		words, out = append(words, h.value), append(out, strings.ToLower(h.name))
	}
	for _, w := range words {
		out = append(out, w.key())
		for _, p := range w {
			if p.variable {
				out = append(out, c.origin(p.text))
			}
		}
	}
	return out
}

// authOf makes references of the call's credentials. Variables that the source reads a
// secret from keep their names, if they are free; the others begin with the prefix.
func (b *builder) authOf(c *call, prefix string) auth {
	a := auth{fields: map[string]string{}, headers: map[string]string{}, holds: map[string]string{}}
	refer := func(w word, otherwise, holds string) string {
		name := b.reserveVariable(cmp.Or(w.variable(), otherwise), w.key()+c.origin(w.variable()))
		a.holds[name] = holds
		return name
	}
	switch {
	case c.sigv4[0] != "":
		a.kind, a.sigv4 = "sigv4", c.sigv4
		a.fields["accessKeyId"] = refer(nil, "AWS_ACCESS_KEY_ID", "the access key's ID")
		a.fields["secretAccessKey"] = refer(nil, "AWS_SECRET_ACCESS_KEY", "the secret access key")
	case c.hasUser && len(c.headers) == 0:
		a.kind = "basic"
		name, password, _ := c.user.cut(':')
		a.fields["username"] = refer(name, prefix+"_USER", "the user's name")
		a.fields["password"] = refer(password, prefix+"_PASSWORD", "the password")
	case !c.hasUser && len(c.headers) == 1 && c.bearer() != nil:
		a.kind = "bearer"
		a.fields["token"] = refer(c.bearer(), prefix+"_TOKEN", "the bearer token")
	case c.hasUser || len(c.headers) > 0:
		a.kind = "headers"
		for _, h := range c.headers {
			a.headers[h.name] = refer(h.value, prefix+"_"+variable(h.name), "the whole value of the header "+h.name)
		}
		if c.hasUser {
			a.headers["Authorization"] = refer(nil, prefix+"_AUTHORIZATION", `"Basic " and the base64 of user:password`)
		}
	}
	return a
}

// origin tells values of one variable's name apart.
func (c *call) origin(name string) string {
	if name == "" {
		return ""
	}
	return "\x00" + cmp.Or(c.origins[name], c.env[name])
}

// originOf tells apart values that are made of variables.
func (c *call) originOf(w word) (origin string) {
	for _, p := range w {
		origin += "\x00" + p.text
		if p.variable {
			origin += c.origin(p.text)
		}
	}
	return origin
}

// bearer returns the token of an Authorization header of that kind.
func (c *call) bearer() word {
	h := c.headers[0]
	if !strings.EqualFold(h.name, "Authorization") {
		return nil
	}
	return h.value.cutPrefix("Bearer ")
}

// harmless are header fields whose values are never secret. Every other field becomes
// a reference.
var harmless = []string{"accept", "accept-language", "cache-control", "content-language", "pragma", "prefer", "x-requested-with"}

// header sorts one header of the source: cronce's own, harmless, or a reference.
func (e *entry) header(name string, value word) {
	lower := strings.ToLower(name)
	switch {
	case lower == "content-type":
		text, _ := value.literal(e.call.env)
		if kind, _, _ := strings.Cut(strings.ToLower(text), ";"); strings.TrimSpace(kind) == "application/json" {
			e.call.jsonType = true
		} else {
			e.note(Headers, "Content-Type is not taken over; cronce sends application/json")
			e.call.jsonType = true
		}
	case lower == "idempotency-key":
		e.note(Headers, "Idempotency-Key is not taken over; cronce sends the run ID")
	case slices.Contains([]string{"user-agent", "host", "content-length", "connection", "expect", "transfer-encoding", "te", "trailer",
		"upgrade",
		"keep-alive", "content-encoding", "proxy-connection", "proxy-authorization"}, lower) || strings.HasPrefix(lower, "cronce-"):
		e.note(Headers, "the header %s is not taken over; cronce sets it itself or not at all", printable(name))
	case slices.Contains(harmless, lower):
		text, known := value.literal(e.call.env)
		if !known || text == "" || len(text) > 256 || looksSecret(text) ||
			strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
			e.note(Headers, "the header %s is not taken over", name)
			return
		}
		if e.call.harmless == nil {
			e.call.harmless = map[string]string{}
		}
		e.call.harmless[name] = jobs.EscapePlaceholders(text)
	default:
		e.call.headers = append(e.call.headers, header{name, value})
	}
}
