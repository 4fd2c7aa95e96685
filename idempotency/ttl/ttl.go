// Package ttl finds the time to live of a key by its scope: the one rule for the
// kit, which stores it, and for the scheduler, which proves that no key expires
// before the last retry.
package ttl

import (
	"iter"
	"strings"
)

// Match returns the pattern that decides a scope's TTL: the scope's exact name,
// else the longest pattern that ends in * and matches. ok is false when there is
// none.
func Match(scope string, patterns iter.Seq[string]) (pattern string, ok bool) {
	for p := range patterns {
		if p == scope {
			return p, true
		}
		prefix, wild := strings.CutSuffix(p, "*")
		if wild && strings.HasPrefix(scope, prefix) && len(p) > len(pattern) {
			pattern, ok = p, true
		}
	}
	return pattern, ok
}
