package sqlite_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/sqlite"
	"github.com/cronce/cronce/idempotency/store"
)

// The caller may have stopped asking at its send-before time itself, on a clock
// that stands still there.
func TestACallIsLateFromItsSendBeforeOn(t *testing.T) {
	path := fresh(t)
	synctest.Test(t, func(t *testing.T) {
		db, err := sqlite.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		keys, now := sqlite.New(db, sqlite.Options{}), time.Now()
		for _, tt := range []struct {
			name       string
			sendBefore time.Time
			late       bool
		}{{"at it", now, true}, {"a millisecond before it", now.Add(time.Millisecond), false}} {
			c := store.Claim{Key: idempotency.Key{Scope: "s", Principal: "-", Value: tt.name}, Fingerprint: "f", Owner: "o",
				TTL: time.Hour, MaxRun: time.Minute, SendBefore: tt.sendBefore}
			tx, status, err := keys.Begin(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if tx.Rollback(t.Context()); status.TooLate != tt.late {
				t.Errorf("work %s: late %t", tt.name, status.TooLate)
			}
			if status, err := keys.Reserve(t.Context(), c, time.Minute, false); err != nil || status.TooLate != tt.late {
				t.Errorf("a reservation %s: late %t, %v", tt.name, status.TooLate, err)
			}
		}
	})
}
