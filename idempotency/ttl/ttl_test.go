package ttl_test

import (
	"slices"
	"testing"

	"github.com/cronce/cronce/idempotency/ttl"
)

func TestMatchIsTheExactNameThenTheLongestWildcard(t *testing.T) {
	patterns := []string{"*", "event:*", "event:order*", "event:order", "route:a"}
	for scope, want := range map[string]string{
		"event:order": "event:order", "event:order.placed": "event:order*", "event:mail": "event:*", "route:b": "*", "": "*",
	} {
		for range 2 { // in either order
			if got, ok := ttl.Match(scope, slices.Values(patterns)); got != want || !ok {
				t.Errorf("%q: %q, %t, want %q", scope, got, ok, want)
			}
			slices.Reverse(patterns)
		}
	}
	if got, ok := ttl.Match("x", slices.Values([]string{"y", "xx*"})); got != "" || ok {
		t.Errorf("%q, %t", got, ok)
	}
}
