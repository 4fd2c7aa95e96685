package ledgertest

import (
	"slices"
	"sync"
	"time"

	"github.com/cronce/cronce/ledger"
)

var revisionCases = []testCase{
	{"an edit ends the revision and begins the next in the plan's transaction", func(t *fixture) {
		j := t.newBegunJob("j")
		t.declare("p2", "v2", "j")
		p := j.plan(1, j.planned(0, ledger.OverlapAllow), j.planned(1, ledger.OverlapAllow))
		p.Next = new(definition("v2", "j"))
		_, err := t.Admit(t.ctx, t.admission(p))
		t.must(err)
		t.wantState(j.id(1), ledger.Planned, "")
		s := t.wantDefinitions("j", "v2", "v2")
		if s.Revision <= j.Revision || !s.Watermark.Equal(j.at(1)) {
			t.Errorf("standing %+v, want a later revision from %s", s, j.at(1))
		}
		ended, begun := t.events("j", ledger.EventRevisionEnded), t.events("j", ledger.EventRevisionBegun)
		if len(ended) != 1 || len(begun) != 2 || !ended[0].At.Equal(j.at(1)) || !begun[0].At.Equal(j.at(1)) || !begun[1].At.Equal(j.Watermark) {
			t.Errorf("events: ended %v, begun %v", ended, begun)
		}
		old := j.plan(2, j.planned(2, ledger.OverlapAllow))
		old.After = j.at(1)
		t.wantStale(old)
		k := j.next()
		k.admit(k.planned(0, ledger.OverlapAllow))
		if r := t.get(k.id(0)); r.Revision != s.Revision {
			t.Errorf("planned under revision %d, want %d", r.Revision, s.Revision)
		}
	}},
	{"a refused plan does not switch the definition", func(t *fixture) {
		j := t.newBegunJob("j")
		p := j.plan(70)
		p.Next = new(definition("v2", "j"))
		t.wantStale(p)
		t.wantDefinitions("j", "v1", "v1")
	}},
	{"of two that switch at once one does", func(t *fixture) {
		j := t.newBegunJob("j")
		var wg sync.WaitGroup
		won := make([]int, 3)
		for i, hash := range []string{"v2", "v3", "v4"} {
			s := t.secondReplica()
			p := j.plan(0, j.planned(0, ledger.OverlapAllow))
			p.Next = new(definition(hash, "j"))
			a := t.admission(p)
			wg.Go(func() {
				got, err := s.Admit(t.ctx, a)
				if err != nil {
					t.Error(err)
				}
				won[i] = 1 - len(got.Stale)
			})
		}
		wg.Wait()
		if won[0]+won[1]+won[2] != 1 {
			t.Errorf("admitted %v, want one", won)
		}
		if n := len(t.events("j", ledger.EventRevisionEnded)); n != 1 {
			t.Errorf("%d revisions ended, want 1", n)
		}
	}},
	{"a job that an older live process declares is not removed", func(t *fixture) {
		// V2 does not know the job, and v1 still runs.
		t.newBegunJob("j")
		t.declare("p2", "v2", "other")
		t.wantDefinitions("j", "v1", "v1")
		t.must(t.Deregister(t.ctx, "p1"))
		t.wantDefinitions("j", "v1", "")
	}},
	{"a removed job ends after its last scheduled times and is planned no more", removed},
	{"an edit leaves the slot with its holder", func(t *fixture) {
		j := t.newBegunJob("j")
		got := j.admit(j.leased(0, ledger.OverlapSkip))
		t.switchTo("j", "v2")
		k := j.nextIs(ledger.Skipped, ledger.ReasonOverlap)
		t.record(succeeded(got.Leased[0]))
		k.nextIs(ledger.Planned, "")
	}},
	{"the runs of a removed job go on to their end", func(t *fixture) {
		j := t.newBegunJob("j")
		got := j.admit(j.leased(0, ledger.OverlapQueue), j.planned(1, ledger.OverlapQueue))
		t.switchTo("j", "")
		t.record(retrying(got.Leased[0], 0))
		t.record(succeeded(t.claimOne("p1", j.id(0))))
		t.record(succeeded(t.claimOne("p1", j.id(1))))
	}},
	{"a re-added job begins anew with nothing before now", func(t *fixture) {
		j := t.newBegunJob("j")
		t.removeJob(j)
		t.must(t.Deregister(t.ctx, "p1"))
		t.advance(time.Hour)
		t.declare("p2", "v1", "j")
		now := t.heartbeat("p2").Now
		s := t.assignments("v1")["j"]
		if s.Hash != "v1" || s.Revision <= j.Revision || s.Watermark.Before(now) {
			t.Errorf("standing %+v, want a revision after %d that begins at %s", s, j.Revision, now)
		}
		if ended, begun := t.events("j", ledger.EventRevisionEnded),
			t.events("j", ledger.EventRevisionBegun); !ended[0].At.Equal(j.at(0)) || !begun[0].At.Equal(s.Watermark) {
			t.Errorf("events: ended %v, begun %v, want them at %s and %s", ended, begun, j.at(0), s.Watermark)
		}
		p := j.plan(1, j.leased(1, ledger.OverlapAllow))
		p.After = j.at(0)
		t.wantStale(p)
		p.Revision = s.Revision
		t.wantStale(p)
	}},
	{"a pause outlives an edit, a removal and the return", func(t *fixture) {
		j := t.newBegunJob("j")
		t.must(t.PauseJob(t.ctx, "j", ledger.Actor{By: "ann", Why: "audit"}))
		t.switchTo("j", "v2")
		t.switchTo("j", "")
		t.must(t.Deregister(t.ctx, "p1"))
		t.declare("p2", "v3", "j")
		t.assignments("v3")
		t.advance(time.Hour)
		k := j.next()
		if got := k.admit(k.leased(0, ledger.OverlapSkip)); got.Skipped[ledger.ReasonPaused] != 1 {
			t.Errorf("skipped %v, want the job still paused", got.Skipped)
		}
	}},
	{"the definition of a job is that of its current revision, and an ended job has none", func(t *fixture) {
		t.newBegunJob("j")
		t.declare("p2", "v2", "j")
		for _, hash := range []string{"v1", "v2"} {
			if hash == "v2" {
				t.switchTo("j", hash)
			}
			if s, body := t.status("j"), t.bodyOf("j"); s.Ended || body != `{"hash":"`+hash+`"}` {
				t.Errorf("status %+v with body %s, want that of %s", s, body, hash)
			}
		}
		t.switchTo("j", "")
		if s, body := t.status("j"), t.bodyOf("j"); !s.Ended || body != "" {
			t.Errorf("status %+v with body %s, want an ended job without one", s, body)
		}
	}},
}

func (t *fixture) bodyOf(id string) string {
	t.Helper()
	bodies, err := t.JobBodies(t.ctx, id, "nobody")
	t.must(err)
	return string(bodies[id])
}

func removed(t *fixture) {
	j := t.newBegunJob("j")
	t.must(t.Deregister(t.ctx, "p1"))
	t.removeJob(j)
	t.wantState(j.id(0), ledger.Planned, "")
	if s, ok := t.assignments("")["j"]; ok {
		t.Errorf("Assignments lists an ended job: %+v", s)
	}
	st := t.status("j")
	if !st.Ended || len(t.events("j", ledger.EventRevisionEnded)) != 1 {
		t.Errorf("status %+v, want ended", st)
	}
	for _, revision := range []int64{j.Revision, st.Revision, st.Revision + 1} {
		p := j.plan(1, j.leased(1, ledger.OverlapAllow))
		p.Revision, p.After = revision, j.at(0)
		t.wantStale(p)
	}
}

// switchTo plans a job to a definition without any scheduled times.
func (t *fixture) switchTo(id, hash string) {
	t.Helper()
	j := t.now(id)
	p := ledger.Plan{JobID: id, Revision: j.Revision, After: j.Watermark, Through: j.Watermark}
	p.Next = &ledger.Definition{JobID: id, Hash: hash, Body: []byte(`{"hash":"` + hash + `"}`)}
	got, err := t.Admit(t.ctx, t.admission(p))
	t.must(err)
	if len(got.Stale) != 0 {
		t.Fatalf("switch of %s refused: %+v", id, got.Stale)
	}
}

// removeJob removes a job: its plan has one last scheduled time.
func (t *fixture) removeJob(j *job) {
	t.Helper()
	p := j.plan(0, j.planned(0, ledger.OverlapAllow))
	p.Next = &ledger.Definition{JobID: j.JobID}
	got, err := t.Admit(t.ctx, t.admission(p))
	t.must(err)
	if len(got.Stale) != 0 {
		t.Fatalf("end of %s refused: %+v", j.JobID, got.Stale)
	}
}

// events returns a job's events of one kind, newest first.
func (t *fixture) events(id string, kind ledger.EventKind) []ledger.Event {
	t.Helper()
	es, err := t.Events(t.ctx, id, 0)
	t.must(err)
	return slices.DeleteFunc(es, func(e ledger.Event) bool { return e.Kind != kind })
}
