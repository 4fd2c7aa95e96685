package sqlite_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/idempotencytest"
	"github.com/cronce/cronce/idempotency/sqlite"
	"github.com/cronce/cronce/idempotency/store"
)

// unfenced finishes a key for its present owner, whichever owner asks.
type unfenced struct{ *sqlite.Store }

func (s unfenced) owned(ctx context.Context, c store.Claim) store.Claim {
	if status, err := s.Lookup(ctx, c); err == nil && status.Record != nil {
		c.Owner = status.Record.Owner
	}
	return c
}

func (s unfenced) Renew(ctx context.Context, c store.Claim, progress []byte) (bool, error) {
	return s.Store.Renew(ctx, s.owned(ctx, c), progress)
}

func (s unfenced) Resume(ctx context.Context, c store.Claim) (store.Tx, bool, error) {
	c = s.owned(ctx, c)
	tx, held, err := s.Store.Resume(ctx, c)
	return owned{tx, c}, held, err
}

type owned struct {
	store.Tx
	claim store.Claim
}

func (o owned) Commit(ctx context.Context, _ store.Claim, r idempotency.Reply) (time.Time, error) {
	return o.Tx.Commit(ctx, o.claim, r)
}

// stuck takes no key over.
type stuck struct{ *sqlite.Store }

func (s stuck) Accept(ctx context.Context, c store.Claim) (store.KeyStatus, error) {
	if status, err := s.Lookup(ctx, c); err != nil || status.Record != nil {
		return status, err
	}
	return s.Store.Accept(ctx, c)
}

// greedy takes over what is under a lease.
type greedy struct{ *sqlite.Store }

func (s greedy) Lookup(ctx context.Context, c store.Claim) (store.KeyStatus, error) {
	status, err := s.Store.Lookup(ctx, c)
	status.LeaseExpired = true
	return status, err
}

func (s greedy) Accept(ctx context.Context, c store.Claim) (store.KeyStatus, error) {
	if status, err := s.Store.Lookup(ctx, c); err == nil && status.Record != nil {
		former := c
		former.Owner = status.Record.Owner
		_, _ = s.Abandon(ctx, former)
	}
	return s.Store.Accept(ctx, c)
}

// forgetful renews nothing.
type forgetful struct{ *sqlite.Store }

func (forgetful) Renew(context.Context, store.Claim, []byte) (bool, error) { return true, nil }

// mutants are stores that break a rule of long work, and the case of the contract
// that detects each.
var mutants = map[string]struct {
	store func(*sqlite.Store) store.Store
	rule  string
}{
	"unfenced":  {func(s *sqlite.Store) store.Store { return unfenced{s} }, "of two workers only the one with the lease finishes"},
	"stuck":     {func(s *sqlite.Store) store.Store { return stuck{s} }, "a dead worker's key is taken over, with its progress"},
	"greedy":    {func(s *sqlite.Store) store.Store { return greedy{s} }, "long work is answered 202 at once, then with its progress, then with its reply"},
	"forgetful": {func(s *sqlite.Store) store.Store { return forgetful{s} }, "progress renews the lease"},
}

const mutantVariable = "SQLITE_MUTANT"

// The contract fails for a store that breaks its rules. A mutant runs in another
// process, where it may fail.
func TestTheContractDetectsMutants(t *testing.T) {
	if m, is := mutants[os.Getenv(mutantVariable)]; is {
		idempotencytest.Run(t, func(t *testing.T) idempotencytest.Engine {
			e := engine(t)
			e.Store, e.Other = m.store(e.Store.(*sqlite.Store)), m.store(e.Other.(*sqlite.Store))
			return e
		})
		return
	}
	for name, m := range mutants {
		t.Run(name, func(t *testing.T) {
			rule := strings.ReplaceAll(m.rule, " ", "_")
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.count=1", "-test.run=^"+t.Name()[:strings.Index(t.Name(), "/")]+"$/^"+rule+"$")
			cmd.Env = append(os.Environ(), mutantVariable+"="+name)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: "+t.Name()[:strings.Index(t.Name(), "/")]+"/"+rule) {
				t.Errorf("not detected: %v\n%s", err, out)
			}
		})
	}
}
