package ledgertest

import (
	"errors"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

var purgeCases = []testCase{
	{"finished runs past retention go, with their attempts", purges},
	{"unfinished runs stay, however old", func(t *fixture) {
		j := t.job("j")
		a := ledger.OverlapAllow
		got := j.admit(j.leased(0, a), j.leased(1, a), j.planned(2, a), j.missed(3))
		t.record(retrying(got.Leased[0], time.Hour))
		t.advance(100 * time.Hour)
		t.purge(ledger.Purge{})
		t.wantRuns("j", j.id(0), j.id(1), j.id(2))
	}},
	{"a dead run stays until acknowledged or past its own retention", func(t *fixture) {
		j := t.newDeadRuns(2)
		t.wantChanged(t.Ack(t.ctx, actionOn(j.id(0))))(j.id(0))
		p := ledger.Purge{Retention: time.Hour, DeadRetention: 10 * time.Hour}
		t.purge(p)
		t.wantRuns("j", j.id(0), j.id(1))
		t.advance(2 * time.Hour)
		t.purge(p)
		t.wantRuns("j", j.id(1))
		t.advance(9 * time.Hour)
		t.purge(p)
		t.wantRuns("j")
	}},
	{"a run that a purge has found, and that is dead again, stays for its own retention", func(t *fixture) {
		j := t.newDeadRuns(1)
		t.wantChanged(t.Ack(t.ctx, actionOn(j.id(0))))(j.id(0))
		t.wantChanged(t.Redrive(t.ctx, actionOn(j.id(0))))(j.id(0))
		t.record(dead(t.claimOne("p1", j.id(0)), ledger.ReasonExhausted))
		t.advance(2 * time.Hour)
		p := ledger.Purge{Retention: time.Hour, DeadRetention: 10 * time.Hour}
		p.From = ledger.PurgeCursor{After: j.at(0), Found: []string{j.id(0)}}
		if got := t.purge(p); got.Runs != 0 || len(got.Next.Found) != 0 {
			t.Errorf("purged %+v, dead again and unacknowledged", got)
		}
		t.wantRuns("j", j.id(0))
		t.advance(9 * time.Hour)
		if got := t.purge(p); got.Runs != 1 {
			t.Errorf("purged %+v past its own retention", got)
		}
	}},
	{"the retention of dead runs may be the shorter one", func(t *fixture) {
		j := t.newDeadRuns(2)
		t.wantChanged(t.Ack(t.ctx, actionOn(j.id(0))))(j.id(0))
		p := ledger.Purge{Retention: 10 * time.Hour, DeadRetention: time.Hour}
		t.advance(2 * time.Hour)
		t.purge(p)
		t.wantRuns("j", j.id(0))
		t.advance(9 * time.Hour)
		t.purge(p)
		t.wantRuns("j")
	}},
	{"watermarks stay and purgedThrough rises, never falls", func(t *fixture) {
		j := t.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow), j.missed(1))
		if s := t.status("j"); !s.PurgedThrough.IsZero() {
			t.Errorf("purgedThrough %s before any purge", s.PurgedThrough)
		}
		t.purge(ledger.Purge{})
		t.canceled(j.id(0))
		for range 2 {
			if s := t.status("j"); !s.PurgedThrough.Equal(j.at(1)) || !s.Watermark.Equal(j.at(1)) {
				t.Errorf("status %+v, want purgedThrough and watermark %s", s, j.at(1))
			}
			t.purge(ledger.Purge{}) // the second one deletes the older scheduled time
		}
		t.wantRuns("j")
	}},
	{"a range row raises purgedThrough to its end", func(t *fixture) {
		j := t.job("j")
		j.admit(j.rangeOf(0, 3))
		t.purge(ledger.Purge{})
		t.wantRuns("j")
		if s := t.status("j"); !s.PurgedThrough.Equal(j.at(3)) {
			t.Errorf("purgedThrough %s, want %s", s.PurgedThrough, j.at(3))
		}
	}},
	{"~ work goes and does not raise purgedThrough", func(t *fixture) {
		j := t.job("j")
		e := t.mustEnter(j.adHoc("x"))
		t.record(succeeded(*e.Work))
		t.purge(ledger.Purge{})
		t.wantRuns("j")
		if s := t.status("j"); !s.PurgedThrough.IsZero() {
			t.Errorf("purgedThrough %s, want none", s.PurgedThrough)
		}
	}},
	{"a run ahead of its job's watermark stays", func(t *fixture) {
		// An event ran before the plan came to its scheduled time.
		j := t.job("j")
		e := t.mustEnter(j.entry(j.leased(2, ledger.OverlapSkip)))
		t.record(succeeded(*e.Work))
		for _, dry := range []bool{true, false} {
			if got := t.purge(ledger.Purge{DryRun: dry}); got.Runs != 0 {
				t.Errorf("dry run %t: %+v, want nothing purged", dry, got)
			}
		}
		t.wantRuns("j", j.id(2))
		j.admit(j.missed(0), j.missed(1), j.leased(2, ledger.OverlapSkip))
		t.wantState(j.id(2), ledger.Succeeded, "")
		t.purge(ledger.Purge{})
		t.wantRuns("j")
	}},
	{"a run scheduled long ago stays as long as any after it has finished", func(t *fixture) {
		// Its holder was suspended for days, and no process took it over.
		j, w := t.newStarted("j")
		t.advance(100 * time.Hour)
		t.record(succeeded(w))
		p := ledger.Purge{Retention: time.Hour, DeadRetention: time.Hour}
		if got := t.purge(p); got.Runs != 0 {
			t.Errorf("purged %+v, scheduled long ago and finished just now", got)
		}
		t.wantRuns("j", j.id(0))
		t.advance(time.Hour + time.Second)
		t.purge(p)
		t.wantRuns("j")
	}},
	{"a run at the beginning of time, or before 1970, stays as long as any after it has finished, and goes", func(t *fixture) {
		// Work that says no time stands at the beginning of Unix time.
		j := t.job("j")
		var ids []string
		for _, at := range []time.Time{time.Unix(0, 0), time.Unix(-1, 0), time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)} {
			e := j.adHoc("x")
			e.ScheduledAt, e.RunID = at, runID("j", at)+"~x"
			t.record(succeeded(*t.mustEnter(e).Work))
			ids = append(ids, e.RunID)
		}
		p := ledger.Purge{Retention: time.Hour, DeadRetention: time.Hour}
		t.purge(p)
		t.wantRuns("j", ids...)
		t.advance(time.Hour + time.Second)
		t.purge(p)
		t.wantRuns("j")
	}},
	{"a run redriven stays as long as any after its last end", func(t *fixture) {
		j, w := t.newStarted("j")
		t.record(dead(w, ledger.ReasonExhausted))
		t.advance(30 * time.Minute)
		t.wantChanged(t.Redrive(t.ctx, actionOn(j.id(0))))(j.id(0))
		t.record(succeeded(t.claimOne("p1", j.id(0))))
		t.advance(15 * time.Minute)
		p := ledger.Purge{Retention: 40 * time.Minute, DeadRetention: 40 * time.Minute}
		t.purge(p)
		t.wantRuns("j", j.id(0))
		t.advance(30 * time.Minute)
		t.purge(p)
		t.wantRuns("j")
	}},
	{"a run canceled before its time stays until its time is past retention", func(t *fixture) {
		j := t.job("j")
		e := j.adHocAt(10*60, "x") // in about 9 hours
		t.mustEnter(e)
		t.canceled(e.RunID)
		p := ledger.Purge{Retention: time.Hour, DeadRetention: time.Hour}
		t.advance(5 * time.Hour)
		t.purge(p)
		t.wantRuns("j", e.RunID)
		t.advance(6 * time.Hour)
		t.purge(p)
		t.wantRuns("j")
	}},
	{"a dry run counts and deletes nothing", func(t *fixture) {
		j := t.job("j")
		j.admit(j.missed(0), j.missed(1), j.rangeOf(2, 4), j.planned(5, ledger.OverlapAllow))
		if got := t.purge(ledger.Purge{DryRun: true, Batch: 1}); got.Runs != 3 {
			t.Errorf("dry run %+v, want 3 rows", got)
		}
		if n := len(t.all("j")); n != 4 {
			t.Errorf("a dry run left %d rows of 4", n)
		}
		if s := t.status("j"); !s.PurgedThrough.IsZero() {
			t.Errorf("a dry run raised purgedThrough to %s", s.PurgedThrough)
		}
	}},
}

func (t *fixture) purge(p ledger.Purge) ledger.Purged {
	t.Helper()
	got, err := t.PurgeRuns(t.ctx, p)
	t.must(err)
	return got
}

// wantRuns checks which runs of a job are left.
func (t *fixture) wantRuns(jobID string, want ...string) {
	t.Helper()
	var ids []string
	for _, r := range t.all(jobID) {
		ids = append(ids, r.ID)
	}
	slices.Sort(ids)
	slices.Sort(want)
	if !slices.Equal(ids, want) {
		t.Errorf("left %v, want %v", ids, want)
	}
}

func purges(t *fixture) {
	j, w := t.newStarted("j")
	t.record(succeeded(w))
	p := ledger.Purge{Retention: time.Hour, DeadRetention: time.Hour}
	if got := t.purge(p); got.Runs != 0 {
		t.Errorf("purged %+v within retention", got)
	}
	t.advance(time.Hour + time.Second)
	if got := t.purge(p); got.Runs != 1 || got.Next.After.IsZero() || got.More {
		t.Errorf("purged %+v, want the one", got)
	}
	if _, _, err := t.Get(t.ctx, j.id(0)); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("a purged run: %v, want ErrNotFound", err)
	}
	if got := t.purge(p); got.Runs != 0 || !got.Next.After.IsZero() {
		t.Errorf("purged %+v again", got)
	}
}
