package idempotency

import (
	"strings"
	"time"
)

// TTL finds a key scope's TTL: its exact name, else the longest name ending in
// * whose beginning it has, else the fallback.
func TTL(scope string, ttls map[string]time.Duration, fallback time.Duration) time.Duration {
	if ttl, ok := ttls[scope]; ok {
		return ttl
	}
	best, ttl := -1, fallback
	for name, t := range ttls {
		prefix, wild := strings.CutSuffix(name, "*")
		if wild && len(prefix) > best && strings.HasPrefix(scope, prefix) {
			best, ttl = len(prefix), t
		}
	}
	return ttl
}
