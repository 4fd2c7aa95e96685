// Package ttl has the rule by which the TTL of a key follows from its scope. The kit,
// which stores keys, and the scheduler, which proves that no key expires before the last
// retry, use the same rule.
package ttl

import (
	"iter"
	"strings"
)

// Match returns the pattern that determines a scope's TTL: the scope itself, or else the
// longest prefix that ends in * and matches. ok is false if no pattern matches.
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
