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
func (t *fixture) advance(d time.Duration) {
	t.Helper()
	t.opened.Shift(t.T, d)
}

// secondReplica returns another replica's handle on the same data.
func (t *fixture) secondReplica() ledger.Store {
	t.Helper()
	if t.opened.Second == nil {
		return t.Store
	}
	return t.opened.Second(t.T)
}

func (t *fixture) must(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// token is a fresh lease token.
func (t *fixture) token() string {
	t.tokens++
	return fmt.Sprintf("token-%d", t.tokens)
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
func (t *fixture) declare(process, version string, ids ...string) {
	t.Helper()
	t.must(t.Declare(t.ctx, ledger.Declaration{
		Process: process, Registry: registry, Version: version, Definitions: definitions(version, ids...),
	}))
}

// assignments returns those that a process of this version sees, by job.
func (t *fixture) assignments(version string) map[string]ledger.JobAssignment {
	t.Helper()
	list, err := Assignments(t.ctx, t.Store, version)
	t.must(err)
	m := map[string]ledger.JobAssignment{}
	for _, s := range list {
		if _, twice := m[s.JobID]; twice {
			t.Errorf("Assignments lists %s twice", s.JobID)
		}
		m[s.JobID] = s
	}
	return m
}

// job returns a job that was begun an hour ago and not planned since.
func (t *fixture) job(id string) *job {
	t.Helper()
	t.declare("process-of-"+id, "v1-of-"+id, id)
	t.assignments("v1-of-" + id)
	t.advance(time.Hour)
	return t.now(id)
}

// now reads where a job stands, beginning none.
func (t *fixture) now(id string) *job {
	t.Helper()
	s, ok := t.assignments("")[id]
	if !ok {
		t.Fatalf("Assignments does not list %s", id)
	}
	return &job{fixture: t, Position: s.Position}
}

// get returns a run that must be there.
func (t *fixture) get(runID string) ledger.Run {
	t.Helper()
	r, _, err := t.Get(t.ctx, runID)
	if err != nil {
		t.Fatalf("Get(%s): %v", runID, err)
	}
	return r
}

// history is a run's attempts.
func (t *fixture) history(runID string) []ledger.Attempt {
	t.Helper()
	_, as, err := t.Get(t.ctx, runID)
	t.must(err)
	return as
}

// all returns every run of a job, newest first.
func (t *fixture) all(jobID string) []ledger.Run {
	t.Helper()
	rs, err := t.List(t.ctx, ledger.Filter{JobID: jobID, Limit: 10000})
	t.must(err)
	return rs
}

// wantState checks a run's state and reason.
func (t *fixture) wantState(runID string, state ledger.State, reason ledger.Reason) ledger.Run {
	t.Helper()
	r := t.get(runID)
	if r.State != state || r.Reason != reason {
		t.Errorf("%s is %s (%s), want %s (%s)", runID, r.State, r.Reason, state, reason)
	}
	return r
}
