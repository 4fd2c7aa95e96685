package ledgertest

import (
	"errors"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

var purgeCases = []testCase{
	{"finished runs past retention go, with their attempts", purges},
	{"unfinished runs stay, however old", func(b *fixture) {
		j := b.job("j")
		a := ledger.OverlapAllow
		got := j.admit(j.leased(0, a), j.leased(1, a), j.planned(2, a), j.missed(3))
		b.record(retrying(got.Leased[0], time.Hour))
		b.advance(100 * time.Hour)
		b.purge(ledger.Purge{})
		b.wantRuns("j", j.id(0), j.id(1), j.id(2))
	}},
	{"a dead run stays until acknowledged or past its own retention", func(b *fixture) {
		j := b.newDeadRuns(2)
		b.wantChanged(b.Ack(b.ctx, actionOn(j.id(0))))(j.id(0))
		p := ledger.Purge{Retention: time.Hour, DeadRetention: 10 * time.Hour}
		b.purge(p)
		b.wantRuns("j", j.id(0), j.id(1))
		b.advance(2 * time.Hour)
		b.purge(p)
		b.wantRuns("j", j.id(1))
		b.advance(9 * time.Hour)
		b.purge(p)
		b.wantRuns("j")
	}},
	{"a run that a purge has found, and that is dead again, stays for its own retention", func(b *fixture) {
		j := b.newDeadRuns(1)
		b.wantChanged(b.Ack(b.ctx, actionOn(j.id(0))))(j.id(0))
		b.wantChanged(b.Redrive(b.ctx, actionOn(j.id(0))))(j.id(0))
		b.record(dead(b.claimOne("p1", j.id(0)), ledger.ReasonExhausted))
		b.advance(2 * time.Hour)
		p := ledger.Purge{Retention: time.Hour, DeadRetention: 10 * time.Hour}
		p.From = ledger.PurgeCursor{After: j.at(0), Found: []string{j.id(0)}}
		if got := b.purge(p); got.Runs != 0 || len(got.Next.Found) != 0 {
			b.Errorf("purged %+v, dead again and unacknowledged", got)
		}
		b.wantRuns("j", j.id(0))
		b.advance(9 * time.Hour)
		if got := b.purge(p); got.Runs != 1 {
			b.Errorf("purged %+v past its own retention", got)
		}
	}},
	{"the retention of dead runs may be the shorter one", func(b *fixture) {
		j := b.newDeadRuns(2)
		b.wantChanged(b.Ack(b.ctx, actionOn(j.id(0))))(j.id(0))
		p := ledger.Purge{Retention: 10 * time.Hour, DeadRetention: time.Hour}
		b.advance(2 * time.Hour)
		b.purge(p)
		b.wantRuns("j", j.id(0))
		b.advance(9 * time.Hour)
		b.purge(p)
		b.wantRuns("j")
	}},
	{"watermarks stay and purgedThrough rises, never falls", func(b *fixture) {
		j := b.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow), j.missed(1))
		if s := b.status("j"); !s.PurgedThrough.IsZero() {
			b.Errorf("purgedThrough %s before any purge", s.PurgedThrough)
		}
		b.purge(ledger.Purge{})
		b.canceled(j.id(0))
		for range 2 {
			if s := b.status("j"); !s.PurgedThrough.Equal(j.at(1)) || !s.Watermark.Equal(j.at(1)) {
				b.Errorf("status %+v, want purgedThrough and watermark %s", s, j.at(1))
			}
			b.purge(ledger.Purge{}) // the second one deletes the older scheduled time
		}
		b.wantRuns("j")
	}},
	{"a range row raises purgedThrough to its end", func(b *fixture) {
		j := b.job("j")
		j.admit(j.rangeOf(0, 3))
		b.purge(ledger.Purge{})
		b.wantRuns("j")
		if s := b.status("j"); !s.PurgedThrough.Equal(j.at(3)) {
			b.Errorf("purgedThrough %s, want %s", s.PurgedThrough, j.at(3))
		}
	}},
	{"~ work goes and does not raise purgedThrough", func(b *fixture) {
		j := b.job("j")
		e := b.mustEnter(j.adHoc("x"))
		b.record(succeeded(*e.Work))
		b.purge(ledger.Purge{})
		b.wantRuns("j")
		if s := b.status("j"); !s.PurgedThrough.IsZero() {
			b.Errorf("purgedThrough %s, want none", s.PurgedThrough)
		}
	}},
	{"a run ahead of its job's watermark stays", func(b *fixture) {
		// An event ran before the plan came to its scheduled time.
		j := b.job("j")
		e := b.mustEnter(j.entry(j.leased(2, ledger.OverlapSkip)))
		b.record(succeeded(*e.Work))
		for _, dry := range []bool{true, false} {
			if got := b.purge(ledger.Purge{DryRun: dry}); got.Runs != 0 {
				b.Errorf("dry run %t: %+v, want nothing purged", dry, got)
			}
		}
		b.wantRuns("j", j.id(2))
		j.admit(j.missed(0), j.missed(1), j.leased(2, ledger.OverlapSkip))
		b.wantState(j.id(2), ledger.Succeeded, "")
		b.purge(ledger.Purge{})
		b.wantRuns("j")
	}},
	{"a run scheduled long ago stays as long as any after it has finished", func(b *fixture) {
		// Its holder was suspended for days, and no process took it over.
		j, w := b.newStarted("j")
		b.advance(100 * time.Hour)
		b.record(succeeded(w))
		p := ledger.Purge{Retention: time.Hour, DeadRetention: time.Hour}
		if got := b.purge(p); got.Runs != 0 {
			b.Errorf("purged %+v, scheduled long ago and finished just now", got)
		}
		b.wantRuns("j", j.id(0))
		b.advance(time.Hour + time.Second)
		b.purge(p)
		b.wantRuns("j")
	}},
	{"a run at the beginning of time, or before 1970, stays as long as any after it has finished, and goes", func(b *fixture) {
		// Work that says no time stands at the beginning of Unix time.
		j := b.job("j")
		var ids []string
		for _, at := range []time.Time{time.Unix(0, 0), time.Unix(-1, 0), time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)} {
			e := j.adHoc("x")
			e.ScheduledAt, e.RunID = at, runID("j", at)+"~x"
			b.record(succeeded(*b.mustEnter(e).Work))
			ids = append(ids, e.RunID)
		}
		p := ledger.Purge{Retention: time.Hour, DeadRetention: time.Hour}
		b.purge(p)
		b.wantRuns("j", ids...)
		b.advance(time.Hour + time.Second)
		b.purge(p)
		b.wantRuns("j")
	}},
	{"a run redriven stays as long as any after its last end", func(b *fixture) {
		j, w := b.newStarted("j")
		b.record(dead(w, ledger.ReasonExhausted))
		b.advance(30 * time.Minute)
		b.wantChanged(b.Redrive(b.ctx, actionOn(j.id(0))))(j.id(0))
		b.record(succeeded(b.claimOne("p1", j.id(0))))
		b.advance(15 * time.Minute)
		p := ledger.Purge{Retention: 40 * time.Minute, DeadRetention: 40 * time.Minute}
		b.purge(p)
		b.wantRuns("j", j.id(0))
		b.advance(30 * time.Minute)
		b.purge(p)
		b.wantRuns("j")
	}},
	{"a run canceled before its time stays until its time is past retention", func(b *fixture) {
		j := b.job("j")
		e := j.adHocAt(10*60, "x") // in about 9 hours
		b.mustEnter(e)
		b.canceled(e.RunID)
		p := ledger.Purge{Retention: time.Hour, DeadRetention: time.Hour}
		b.advance(5 * time.Hour)
		b.purge(p)
		b.wantRuns("j", e.RunID)
		b.advance(6 * time.Hour)
		b.purge(p)
		b.wantRuns("j")
	}},
	{"a dry run counts and deletes nothing", func(b *fixture) {
		j := b.job("j")
		j.admit(j.missed(0), j.missed(1), j.rangeOf(2, 4), j.planned(5, ledger.OverlapAllow))
		if got := b.purge(ledger.Purge{DryRun: true, Batch: 1}); got.Runs != 3 {
			b.Errorf("dry run %+v, want 3 rows", got)
		}
		if n := len(b.all("j")); n != 4 {
			b.Errorf("a dry run left %d rows of 4", n)
		}
		if s := b.status("j"); !s.PurgedThrough.IsZero() {
			b.Errorf("a dry run raised purgedThrough to %s", s.PurgedThrough)
		}
	}},
}

func (b *fixture) purge(p ledger.Purge) ledger.Purged {
	b.Helper()
	got, err := b.PurgeRuns(b.ctx, p)
	b.must(err)
	return got
}

// wantRuns checks which runs of a job are left.
func (b *fixture) wantRuns(jobID string, want ...string) {
	b.Helper()
	var ids []string
	for _, r := range b.all(jobID) {
		ids = append(ids, r.ID)
	}
	slices.Sort(ids)
	slices.Sort(want)
	if !slices.Equal(ids, want) {
		b.Errorf("left %v, want %v", ids, want)
	}
}

func purges(b *fixture) {
	j, w := b.newStarted("j")
	b.record(succeeded(w))
	p := ledger.Purge{Retention: time.Hour, DeadRetention: time.Hour}
	if got := b.purge(p); got.Runs != 0 {
		b.Errorf("purged %+v within retention", got)
	}
	b.advance(time.Hour + time.Second)
	if got := b.purge(p); got.Runs != 1 || got.Next.After.IsZero() || got.More {
		b.Errorf("purged %+v, want the one", got)
	}
	if _, _, err := b.Get(b.ctx, j.id(0)); !errors.Is(err, ledger.ErrNotFound) {
		b.Errorf("a purged run: %v, want ErrNotFound", err)
	}
	if got := b.purge(p); got.Runs != 0 || !got.Next.After.IsZero() {
		b.Errorf("purged %+v again", got)
	}
}
