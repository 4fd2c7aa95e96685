//go:build unix

package idempotencytest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency"
)

// worked does long work whose effect bears its key's name, and says how it went:
// done, replayed, or the error.
func worked(t *testing.T, e Engine, name string) string {
	t.Helper()
	op := idempotency.Operation{Scope: key(name).Scope, Principal: key(name).Principal, Key: name}
	duplicate, err := kit(t, e.Store).DoLong(t.Context(), op, func(ctx context.Context, w *idempotency.Work) error {
		if err := w.Progress(ctx, "half"); err != nil {
			return err
		}
		return w.Finish(ctx, func(ctx context.Context) (idempotency.Reply, error) {
			return idempotency.Reply{}, e.Write(ctx, name)
		})
	})
	switch {
	case errors.Is(err, idempotency.ErrInProgress):
		return "409"
	case err != nil:
		return "error " + err.Error()
	case duplicate:
		return replayed
	}
	return done
}

// killedWorker has a worker of long work die between any two things that it says
// to the database. Another one does the work again, unless it was finished.
func killedWorker(t *testing.T, s Service) {
	address := s.Fresh(t)
	e := s.Open(t, address, nil)
	f := &Fault{at: -1}
	if got := worked(t, s.Open(t, address, f), "undisturbed"); got != done {
		t.Fatalf("answered %q without a fault", got)
	}
	for at := int64(1); at <= f.said.Load(); at++ {
		c := child{Address: address, Key: fmt.Sprint("worker-", at), At: at, After: true, Long: true}
		p := start(t, c)
		answered := p.next()
		if state := p.wait(); state != "signal: killed" {
			t.Fatalf("%s: the other process said %q and ended by %q", c.Key, answered, state)
		}
		again := ""
		for deadline := time.Now().Add(maxWait); again != done && again != replayed && time.Now().Before(deadline); {
			e.Age(key(c.Key), time.Hour) // its lease, of a row that it may hold until its connection is gone
			again = worked(t, e, c.Key)
		}
		if n := e.Written(c.Key); n != 1 || again == done && strings.HasPrefix(answered, done) {
			t.Errorf("%s: answered %q, and %q when asked again; %d effects", c.Key, answered, again, n)
		}
	}
}
