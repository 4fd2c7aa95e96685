package targets

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
)

// tokenLife is how long a call's token is valid at most. A call that its target
// takes later than that is made again, under the same key.
const tokenLife = 5 * time.Minute

// jwt is auth type jwt: a token for each attempt, which says whose call of what
// run it is, and what its body is.
type jwt struct {
	sources  // the key that signs, and perhaps the next one
	audience string
	now      func() time.Time

	mu     sync.Mutex
	parsed map[string]*signingKey // by the text of the key
}

// claims are claims of RFC 7519, and the body's SHA-256 in base64url.
type claims struct {
	Issuer   string `json:"iss"` // the registry
	Audience string `json:"aud"`
	Subject  string `json:"sub"` // the job
	ID       string `json:"jti"` // the run's key: the same in all attempts
	IssuedAt int64  `json:"iat"`
	Expires  int64  `json:"exp"`
	Body     string `json:"body_sha256"`
}

// sign adds a token for this call alone. It is valid no longer than the call may be sent.
func (j *jwt) sign(_ context.Context, req *http.Request, c executor.Call) ([]string, error) {
	text, err := j.sources[0].get()
	if err != nil {
		return nil, err
	}
	key, err := j.parse(text)
	if err != nil {
		return nil, &unsignedError{why: j.sources[0].name + " " + err.Error(), wait: firstHoldOff}
	}
	now := j.now()
	end := now.Add(tokenLife)
	for _, bound := range []time.Time{c.SendUntil, c.SendBefore} {
		if !bound.IsZero() && bound.Before(end) {
			end = bound
		}
	}
	sum := sha256.Sum256(c.Call.Body)
	token, err := key.signJWS(claims{
		Issuer: c.Registry, Audience: j.audience, Subject: c.JobID, ID: c.Key(),
		IssuedAt: now.Unix(), Expires: end.Unix(), Body: b64(sum[:]),
	})
	if err != nil {
		return nil, &unsignedError{why: "the call could not be signed", wait: firstHoldOff}
	}
	req.Header.Set("Authorization", "Bearer "+token)
	return []string{text}, nil
}

// parse returns the key of a PEM text, which it parses once.
func (j *jwt) parse(text string) (*signingKey, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if key := j.parsed[text]; key != nil {
		return key, nil
	}
	key, err := parseKey(text)
	if err != nil {
		return nil, err
	}
	if len(j.parsed) >= 4 { // keys that have been rotated out
		clear(j.parsed)
	}
	if j.parsed == nil {
		j.parsed = map[string]*signingKey{}
	}
	j.parsed[text] = key
	return key, nil
}

// secrets returns the keys without the lines of PEM that say what they are.
func (j *jwt) secrets() (list []string) {
	for _, text := range j.sources.secrets() {
		if block, _ := pem.Decode([]byte(text)); block != nil {
			list = append(list, base64.StdEncoding.EncodeToString(block.Bytes))
		}
	}
	return list
}

// public returns the keys that a target may meet: the one that signs, the one before,
// whose tokens may be under way, and the one that signs next.
func (j *jwt) public() (keys []publicKey) {
	for _, s := range j.sources {
		_, _ = s.get() // reads a changed file; the last value is published otherwise
		for _, text := range s.secrets() {
			if key, err := j.parse(text); err == nil {
				keys = append(keys, key.public)
			}
		}
	}
	return keys
}

// JWKS returns the JSON Web Key Set (RFC 7517) with which services verify the tokens of
// calls, for /.well-known/jwks.json. It is empty for a registry without auth type jwt.
func (t *Targets) JWKS() ([]byte, error) {
	var keys []publicKey
	for _, target := range t.byName {
		if j, is := target.signer.(*jwt); is {
			keys = append(keys, j.public()...)
		}
	}
	return keySet(keys)
}

// JWKS is like [Targets.JWKS] for a process that makes no calls. It reads only the keys of
// the targets. The error is a [jobs.Problems].
func JWKS(reg *jobs.Registry, lookup func(string) (string, bool)) ([]byte, error) {
	var keys []publicKey
	var problems jobs.Problems
	for _, entry := range reg.Targets() {
		if entry.Auth.Type == jobs.AuthJWT {
			r := resolver{lookup: lookup, now: time.Now, log: slog.New(slog.DiscardHandler), entry: entry}
			keys = append(keys, r.jwt(entry.Auth).public()...)
			problems = append(problems, r.problems...)
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return keySet(keys)
}

func keySet(keys []publicKey) ([]byte, error) {
	slices.SortFunc(keys, func(a, b publicKey) int { return cmp.Compare(a.ID, b.ID) })
	set := map[string]any{"keys": append([]publicKey{}, slices.Compact(keys)...)}
	text, err := json.MarshalIndent(set, "", "  ")
	return append(text, '\n'), err
}

// jwt reads the keys; the start fails if one of them is invalid.
func (r *resolver) jwt(auth jobs.Auth) *jwt {
	usable := func(text string) error { return CheckKey([]byte(text)) }
	return &jwt{sources: r.usableSources(usable, "key", "nextKey"), audience: cmp.Or(auth.Audience, r.entry.Name), now: r.now}
}
