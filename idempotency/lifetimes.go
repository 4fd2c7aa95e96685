package idempotency

import (
	"encoding/json"
	"net/http"

	"github.com/cronce/cronce/idempotency/ttl"
)

// LifetimesPath is where a service says how long it keeps keys, below its base URL. See
// [Kit.Lifetimes].
const LifetimesPath = ttl.LifetimesPath

// Lifetimes returns the handler of GET [LifetimesPath]: it says how long the service keeps
// completed keys, so that a caller can compare it before its first call, as "cronce check
// --live" does. The answer is JSON with durations as in ISO 8601, such as
//
//	{"idempotency-key-lifetime": "PT86400S", "scopes": {"event:*": "PT2592000S"}}
//
// It says what Options has; the TTL of a single route or operation is not in it.
func (k *Kit) Lifetimes() http.Handler {
	said := struct {
		Default string            `json:"idempotency-key-lifetime"`
		Scopes  map[string]string `json:"scopes,omitempty"`
	}{ttl.FormatISO8601(k.opt.TTL), map[string]string{}}
	for scope, life := range k.opt.TTLs {
		said.Scopes[scope] = ttl.FormatISO8601(life)
	}
	body, _ := json.Marshal(said) // strings only
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	})
}
