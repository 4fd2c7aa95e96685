package ledgertest

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
)

const (
	registry = "acme"
	lease    = time.Minute
	horizon  = time.Hour
)

// fixture is one case's empty ledger, with the moves that cases are written in.
// A move that the case is not about fails the test when it does not succeed.
type fixture struct {
	*testing.T
	ctx context.Context
	ledger.Store
	opened Opened
	tokens int
}

func newFixture(t *testing.T, o Opened) *fixture {
	t.Helper()
	return &fixture{T: t, ctx: context.Background(), Store: o.Store, opened: o}
}

// advance lets d pass on the store's clock.
func (b *fixture) advance(d time.Duration) {
	b.Helper()
	b.opened.Shift(b.T, d)
}

// secondReplica is another replica's handle on the same data.
func (b *fixture) secondReplica() ledger.Store {
	b.Helper()
	if b.opened.Second == nil {
		return b.Store
	}
	return b.opened.Second(b.T)
}

func (b *fixture) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// token is a fresh lease token.
func (b *fixture) token() string {
	b.tokens++
	return fmt.Sprintf("token-%d", b.tokens)
}

// definitions makes one definition, of this hash, for each job.
func definitions(hash string, ids ...string) iter.Seq[ledger.Definition] {
	return func(yield func(ledger.Definition) bool) {
		for _, id := range ids {
			if !yield(definition(hash, id)) {
				return
			}
		}
	}
}

func definition(hash, id string) ledger.Definition {
	return ledger.Definition{JobID: id, Hash: hash, Body: []byte(`{"hash":"` + hash + `"}`)}
}

// declare is a process's start: its definitions of these jobs have the
// version's name for a hash.
func (b *fixture) declare(process, version string, ids ...string) {
	b.Helper()
	b.must(b.Declare(b.ctx, ledger.Declaration{
		Process: process, Registry: registry, Version: version, Definitions: definitions(version, ids...),
	}))
}

// assignments are those that a process of this version sees, by job.
func (b *fixture) assignments(version string) map[string]ledger.JobAssignment {
	b.Helper()
	list, err := Assignments(b.ctx, b.Store, version)
	b.must(err)
	m := map[string]ledger.JobAssignment{}
	for _, s := range list {
		if _, twice := m[s.JobID]; twice {
			b.Errorf("Assignments lists %s twice", s.JobID)
		}
		m[s.JobID] = s
	}
	return m
}

// job is a job that was begun an hour ago and not planned since.
func (b *fixture) job(id string) *job {
	b.Helper()
	b.declare("process-of-"+id, "v1-of-"+id, id)
	b.assignments("v1-of-" + id)
	b.advance(time.Hour)
	return b.now(id)
}

// now reads where a job stands, beginning none.
func (b *fixture) now(id string) *job {
	b.Helper()
	s, ok := b.assignments("")[id]
	if !ok {
		b.Fatalf("Assignments does not list %s", id)
	}
	return &job{fixture: b, Position: s.Position}
}

// get is a run that must be there.
func (b *fixture) get(runID string) ledger.Run {
	b.Helper()
	r, _, err := b.Get(b.ctx, runID)
	if err != nil {
		b.Fatalf("Get(%s): %v", runID, err)
	}
	return r
}

// history is a run's attempts.
func (b *fixture) history(runID string) []ledger.Attempt {
	b.Helper()
	_, as, err := b.Get(b.ctx, runID)
	b.must(err)
	return as
}

// all is every run of a job, newest first.
func (b *fixture) all(jobID string) []ledger.Run {
	b.Helper()
	rs, err := b.List(b.ctx, ledger.Filter{JobID: jobID, Limit: 10000})
	b.must(err)
	return rs
}

// wantState checks a run's state and reason.
func (b *fixture) wantState(runID string, state ledger.State, reason ledger.Reason) ledger.Run {
	b.Helper()
	r := b.get(runID)
	if r.State != state || r.Reason != reason {
		b.Errorf("%s is %s (%s), want %s (%s)", runID, r.State, r.Reason, state, reason)
	}
	return r
}
