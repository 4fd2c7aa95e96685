package idempotencytest

import (
	"errors"
	"testing"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/store"
)

var readyCases = map[string]func(*testing.T, Engine){
	"a store that has all it needs is ready, and one that is down is not": func(t *testing.T, e Engine) {
		ok(t, kit(t, e.Store).Ready(t.Context()))
		if _, asked := e.Down.(store.Checker); !asked {
			t.Skip("the store does not implement store.Checker")
		}
		if err := kit(t, e.Down).Ready(t.Context()); !errors.Is(err, idempotency.ErrUnavailable) {
			t.Errorf("down: %v", err)
		}
	},
}
