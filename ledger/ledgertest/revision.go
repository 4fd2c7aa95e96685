package ledgertest

import (
	"slices"
	"sync"
	"time"

	"github.com/cronce/cronce/ledger"
)

var revisionCases = []testCase{
	{"an edit ends the revision and begins the next in the plan's transaction", func(b *fixture) {
		j := b.newBegunJob("j")
		b.declare("p2", "v2", "j")
		p := j.plan(1, j.planned(0, ledger.OverlapAllow), j.planned(1, ledger.OverlapAllow))
		p.Next = new(definition("v2", "j"))
		_, err := b.Admit(b.ctx, b.admission(p))
		b.must(err)
		b.wantState(j.id(1), ledger.Planned, "")
		s := b.wantDefinitions("j", "v2", "v2")
		if s.Revision <= j.Revision || !s.Watermark.Equal(j.at(1)) {
			b.Errorf("standing %+v, want a later revision from %s", s, j.at(1))
		}
		ended, begun := b.events("j", ledger.EventRevisionEnded), b.events("j", ledger.EventRevisionBegun)
		if len(ended) != 1 || len(begun) != 2 || !ended[0].At.Equal(j.at(1)) || !begun[0].At.Equal(j.at(1)) || !begun[1].At.Equal(j.Watermark) {
			b.Errorf("events: ended %v, begun %v", ended, begun)
		}
		old := j.plan(2, j.planned(2, ledger.OverlapAllow))
		old.After = j.at(1)
		b.wantStale(old)
		k := j.next()
		k.admit(k.planned(0, ledger.OverlapAllow))
		if r := b.get(k.id(0)); r.Revision != s.Revision {
			b.Errorf("planned under revision %d, want %d", r.Revision, s.Revision)
		}
	}},
	{"a refused plan does not switch the definition", func(b *fixture) {
		j := b.newBegunJob("j")
		p := j.plan(70)
		p.Next = new(definition("v2", "j"))
		b.wantStale(p)
		b.wantDefinitions("j", "v1", "v1")
	}},
	{"of two that switch at once one does", func(b *fixture) {
		j := b.newBegunJob("j")
		var wg sync.WaitGroup
		won := make([]int, 3)
		for i, hash := range []string{"v2", "v3", "v4"} {
			s := b.secondReplica()
			p := j.plan(0, j.planned(0, ledger.OverlapAllow))
			p.Next = new(definition(hash, "j"))
			a := b.admission(p)
			wg.Go(func() {
				got, err := s.Admit(b.ctx, a)
				if err != nil {
					b.Error(err)
				}
				won[i] = 1 - len(got.Stale)
			})
		}
		wg.Wait()
		if won[0]+won[1]+won[2] != 1 {
			b.Errorf("admitted %v, want one", won)
		}
		if n := len(b.events("j", ledger.EventRevisionEnded)); n != 1 {
			b.Errorf("%d revisions ended, want 1", n)
		}
	}},
	{"a job that an older live process declares is not removed", func(b *fixture) {
		// V2 does not know the job, and v1 still runs.
		b.newBegunJob("j")
		b.declare("p2", "v2", "other")
		b.wantDefinitions("j", "v1", "v1")
		b.must(b.Deregister(b.ctx, "p1"))
		b.wantDefinitions("j", "v1", "")
	}},
	{"a removed job ends after its last scheduled times and is planned no more", removed},
	{"an edit leaves the slot with its holder", func(b *fixture) {
		j := b.newBegunJob("j")
		got := j.admit(j.leased(0, ledger.OverlapSkip))
		b.switchTo("j", "v2")
		k := j.nextIs(ledger.Skipped, ledger.ReasonOverlap)
		b.record(succeeded(got.Leased[0]))
		k.nextIs(ledger.Planned, "")
	}},
	{"the runs of a removed job go on to their end", func(b *fixture) {
		j := b.newBegunJob("j")
		got := j.admit(j.leased(0, ledger.OverlapQueue), j.planned(1, ledger.OverlapQueue))
		b.switchTo("j", "")
		b.record(retrying(got.Leased[0], 0))
		b.record(succeeded(b.claimOne("p1", j.id(0))))
		b.record(succeeded(b.claimOne("p1", j.id(1))))
	}},
	{"a re-added job begins anew with nothing before now", func(b *fixture) {
		j := b.newBegunJob("j")
		b.removeJob(j)
		b.must(b.Deregister(b.ctx, "p1"))
		b.advance(time.Hour)
		b.declare("p2", "v1", "j")
		now := b.heartbeat("p2").Now
		s := b.assignments("v1")["j"]
		if s.Hash != "v1" || s.Revision <= j.Revision || s.Watermark.Before(now) {
			b.Errorf("standing %+v, want a revision after %d that begins at %s", s, j.Revision, now)
		}
		if ended, begun := b.events("j", ledger.EventRevisionEnded),
			b.events("j", ledger.EventRevisionBegun); !ended[0].At.Equal(j.at(0)) || !begun[0].At.Equal(s.Watermark) {
			b.Errorf("events: ended %v, begun %v, want them at %s and %s", ended, begun, j.at(0), s.Watermark)
		}
		p := j.plan(1, j.leased(1, ledger.OverlapAllow))
		p.After = j.at(0)
		b.wantStale(p)
		p.Revision = s.Revision
		b.wantStale(p)
	}},
	{"a pause outlives an edit, a removal and the return", func(b *fixture) {
		j := b.newBegunJob("j")
		b.must(b.PauseJob(b.ctx, "j", ledger.Actor{By: "ann", Why: "audit"}))
		b.switchTo("j", "v2")
		b.switchTo("j", "")
		b.must(b.Deregister(b.ctx, "p1"))
		b.declare("p2", "v3", "j")
		b.assignments("v3")
		b.advance(time.Hour)
		k := j.next()
		if got := k.admit(k.leased(0, ledger.OverlapSkip)); got.Skipped[ledger.ReasonPaused] != 1 {
			b.Errorf("skipped %v, want the job still paused", got.Skipped)
		}
	}},
	{"the definition of a job is that of its current revision, and an ended job has none", func(b *fixture) {
		b.newBegunJob("j")
		b.declare("p2", "v2", "j")
		for _, hash := range []string{"v1", "v2"} {
			if hash == "v2" {
				b.switchTo("j", hash)
			}
			if s, body := b.status("j"), b.bodyOf("j"); s.Ended || body != `{"hash":"`+hash+`"}` {
				b.Errorf("status %+v with body %s, want that of %s", s, body, hash)
			}
		}
		b.switchTo("j", "")
		if s, body := b.status("j"), b.bodyOf("j"); !s.Ended || body != "" {
			b.Errorf("status %+v with body %s, want an ended job without one", s, body)
		}
	}},
}

func (b *fixture) bodyOf(id string) string {
	b.Helper()
	bodies, err := b.JobBodies(b.ctx, id, "nobody")
	b.must(err)
	return string(bodies[id])
}

func removed(b *fixture) {
	j := b.newBegunJob("j")
	b.must(b.Deregister(b.ctx, "p1"))
	b.removeJob(j)
	b.wantState(j.id(0), ledger.Planned, "")
	if s, ok := b.assignments("")["j"]; ok {
		b.Errorf("Assignments lists an ended job: %+v", s)
	}
	st := b.status("j")
	if !st.Ended || len(b.events("j", ledger.EventRevisionEnded)) != 1 {
		b.Errorf("status %+v, want ended", st)
	}
	for _, revision := range []int64{j.Revision, st.Revision, st.Revision + 1} {
		p := j.plan(1, j.leased(1, ledger.OverlapAllow))
		p.Revision, p.After = revision, j.at(0)
		b.wantStale(p)
	}
}

// switchTo plans a job to a definition without any scheduled times.
func (b *fixture) switchTo(id, hash string) {
	b.Helper()
	j := b.now(id)
	p := ledger.Plan{JobID: id, Revision: j.Revision, After: j.Watermark, Through: j.Watermark}
	p.Next = &ledger.Definition{JobID: id, Hash: hash, Body: []byte(`{"hash":"` + hash + `"}`)}
	got, err := b.Admit(b.ctx, b.admission(p))
	b.must(err)
	if len(got.Stale) != 0 {
		b.Fatalf("switch of %s refused: %+v", id, got.Stale)
	}
}

// removeJob removes a job: its plan has one last scheduled time.
func (b *fixture) removeJob(j *job) {
	b.Helper()
	p := j.plan(0, j.planned(0, ledger.OverlapAllow))
	p.Next = &ledger.Definition{JobID: j.JobID}
	got, err := b.Admit(b.ctx, b.admission(p))
	b.must(err)
	if len(got.Stale) != 0 {
		b.Fatalf("end of %s refused: %+v", j.JobID, got.Stale)
	}
}

// events are a job's events of one kind, newest first.
func (b *fixture) events(id string, kind ledger.EventKind) []ledger.Event {
	b.Helper()
	es, err := b.Events(b.ctx, id, 0)
	b.must(err)
	return slices.DeleteFunc(es, func(e ledger.Event) bool { return e.Kind != kind })
}
