package ledgertest

import (
	"errors"
	"time"

	"github.com/cronce/cronce/ledger"
)

var backfillCases = []testCase{
	{"missed, superseded, skipped and canceled scheduled times become planned", backfills},
	{"runs that ran or are planned are left as they are", func(t *fixture) {
		j := t.job("j")
		a := ledger.OverlapAllow
		got := j.admit(j.leased(0, a), j.leased(1, a), j.leased(2, a), j.planned(3, a))
		t.record(dead(got.Leased[0], ledger.ReasonPermanent), retrying(got.Leased[1], time.Hour))
		j.fill(ledger.Backfilled{Unchanged: 4}, 0, 1, 2, 3)
		t.wantState(j.id(0), ledger.Dead, ledger.ReasonPermanent)
		t.wantState(j.id(1), ledger.Retrying, "")
	}},
	{"scheduled times of a range row are taken out of it one by one", func(t *fixture) {
		j := t.job("j")
		j.admit(j.rangeOf(0, 5))
		j.fill(ledger.Backfilled{Planned: 2}, 2, 3)
		j.filled(2)
		j.filled(3)
		r := t.wantState(j.rangeID(0, 5), ledger.Missed, ledger.ReasonCatchUpWindow)
		if r.Count != 4 || !r.ScheduledAt.Equal(j.at(0)) || !r.Until.Equal(j.at(5)) {
			t.Errorf("range %+v, want the 4 scheduled times that are left", r)
		}
		t.record(succeeded(t.claimOne("p1", j.id(2))))
		j.fill(ledger.Backfilled{Planned: 4, Unchanged: 2}, 0, 1, 2, 3, 4, 5)
		if _, _, err := t.Get(t.ctx, j.rangeID(0, 5)); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("a range row that stands for nothing: %v, want ErrNotFound", err)
		}
		if n := len(t.all("j")); n != 6 {
			t.Errorf("%d rows for 6 scheduled times", n)
		}
	}},
	{"a dry run counts the same and changes nothing", func(t *fixture) {
		j := t.job("j")
		j.admit(j.missed(0), j.rangeOf(1, 3), j.planned(4, ledger.OverlapAllow))
		before := t.all("j")
		want := ledger.Backfilled{Planned: 3, Unchanged: 1, Refused: 1}
		if got := j.backfill(true, 0, 1, 2, 4, 5); got != want {
			t.Errorf("dry run %+v, want %+v", got, want)
		}
		after := t.all("j")
		for i := range before {
			if i >= len(after) || after[i].State != before[i].State || after[i].Count != before[i].Count || after[i].By != "" {
				t.Fatalf("a dry run changed\n%+v to\n%+v", before, after)
			}
		}
		j.fill(want, 0, 1, 2, 4, 5)
	}},
	{"never planned and purged scheduled times are refused", func(t *fixture) {
		j := t.job("j")
		j.admit(j.missed(0), j.missed(1))
		t.purge(ledger.Purge{})
		k := j.next()
		k.admit(k.missed(0))
		j.fill(ledger.Backfilled{Planned: 1, Refused: 3}, 0, 1, 2, 3)
		k.filled(0)
	}},
	{"a scheduled time at or before purgedThrough is refused though its row is left", func(t *fixture) {
		// A row that a purge passed over is still behind it.
		j := t.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow), j.missed(1))
		t.purge(ledger.Purge{})
		t.canceled(j.id(0))
		j.fill(ledger.Backfilled{Refused: 1}, 0)
		t.wantState(j.id(0), ledger.Canceled, ledger.ReasonOperator)
	}},
	{"in a range row of an earlier revision a scheduled time is refused, one with a row of its own is not", func(t *fixture) {
		// Scheduled time 0 has a row of its own, 1 was taken out of the
		// range from 1 to 3 before the edit, and the new revision has a range from 4 to 5.
		j := t.job("j")
		j.admit(j.missed(0), j.rangeOf(1, 3))
		j.fill(ledger.Backfilled{Planned: 1}, 1)
		t.switchTo("j", "v2")
		k := j.next()
		k.admit(k.rangeOf(0, 1))
		t.canceled(j.id(1))
		want := ledger.Backfilled{Planned: 3, Refused: 2}
		if got := j.backfill(true, 0, 1, 2, 3, 4); got != want {
			t.Errorf("dry run %+v, want %+v", got, want)
		}
		j.fill(want, 0, 1, 2, 3, 4)
		j.filled(0)
		j.filled(1)
		k.filled(0)
		if r := t.wantState(j.rangeID(1, 3), ledger.Missed, ledger.ReasonCatchUpWindow); r.Count != 2 {
			t.Errorf("the earlier revision's range counts %d, want its 2 still", r.Count)
		}
		if r := t.get(k.rangeID(0, 1)); r.Count != 1 {
			t.Errorf("the current revision's range counts %d, want the 1 that is left", r.Count)
		}
		if n := len(t.all("j")); n != 5 {
			t.Errorf("%d rows, want 3 scheduled times and 2 ranges", n)
		}
	}},
	{"an ended job's last revision is its current one", func(t *fixture) {
		j := t.job("j")
		j.admit(j.rangeOf(0, 1))
		t.switchTo("j", "v2")
		k := j.next()
		k.admit(k.rangeOf(0, 1))
		t.switchTo("j", "")
		j.fill(ledger.Backfilled{Planned: 2, Refused: 2}, 0, 1, 2, 3)
		k.filled(0)
		k.filled(1)
	}},
	{"a row of its own goes before the range that it lies in", func(t *fixture) {
		j := t.job("j")
		t.mustEnter(j.entry(j.planned(1, ledger.OverlapAllow)))
		j.admit(j.rangeOf(0, 2))
		j.fill(ledger.Backfilled{Planned: 1, Unchanged: 1}, 0, 1)
		if r := t.get(j.rangeID(0, 2)); r.Count != 1 {
			t.Errorf("the range counts %d, want the 1 that is left", r.Count)
		}
		got, err := t.Enter(t.ctx, j.entry(j.planned(0, ledger.OverlapAllow)))
		t.must(err)
		if got.Inserted || got.Run.ID != j.id(0) {
			t.Errorf("entered %+v, want the scheduled time's own row", got)
		}
	}},
	{"backfilled runs wait for the slot, oldest first, whatever the overlap", func(t *fixture) {
		j, w := t.newStarted("j")
		k := j.next()
		k.admit(k.missed(0), k.missed(1))
		k.fill(ledger.Backfilled{Planned: 2}, 0, 1)
		t.wantIdle()
		t.record(succeeded(w))
		t.record(succeeded(t.claimOne("p1", k.id(0))))
		t.record(succeeded(t.claimOne("p1", k.id(1))))
	}},
	{"a canceled run that was sent keeps its key, call and numbers", func(t *fixture) {
		j, w := t.newStarted("j")
		t.record(retrying(w, time.Hour))
		t.canceled(j.id(0))
		if got := j.backfillWith("/v2"); got.Planned != 1 {
			t.Fatalf("backfilled %+v", got)
		}
		again := t.claimOne("p2", j.id(0))
		if again.Attempt != 2 || again.Failures != 0 || !again.SendBefore.Equal(w.SendBefore) {
			t.Errorf("work %+v, want attempt 2 of a new budget before %s", again, w.SendBefore)
		}
		t.sameCall("backfilled", again.Call, w.Call)

		j = t.job("unsent")
		j.admit(j.planned(0, ledger.OverlapSkip))
		t.canceled(j.id(0))
		j.backfillWith("/v2")
		if r := t.get(j.id(0)); r.Call.Path != "/v2" {
			t.Errorf("path %s, want the call of the backfill: nothing was sent before", r.Call.Path)
		}
	}},
	{"a canceled run that was sent is refused past its sendBefore", func(t *fixture) {
		j, _ := t.newStarted("j")
		t.canceled(j.id(0))
		t.advance(horizon + time.Second)
		if got := j.backfillWith("/v2"); got.Refused != 1 {
			t.Errorf("backfilled %+v, want it refused", got)
		}
		t.wantState(j.id(0), ledger.Canceled, ledger.ReasonOperator)

		j, _ = t.keySafe("k", 3)
		t.wantChanged(t.Redrive(t.ctx, actionOn(j.id(0))))(j.id(0))
		t.canceled(j.id(0))
		t.advance(horizon + time.Second)
		if got := j.backfillWith("/v2"); got.Planned != 1 {
			t.Errorf("backfilled %+v, want it planned: its key is safe", got)
		}
		t.claimOne("p2", j.id(0))
	}},
	{"a pause does not hold a backfill back", func(t *fixture) {
		j := t.job("j")
		t.must(t.PauseJob(t.ctx, "j", ledger.Actor{By: "ann", Why: "audit"}))
		j.admit(j.planned(0, ledger.OverlapSkip))
		j.fill(ledger.Backfilled{Planned: 1}, 0)
		t.claimOne("p1", j.id(0))
	}},
	{"a repeated backfill changes nothing", func(t *fixture) {
		j := t.job("j")
		j.admit(j.missed(0), j.rangeOf(1, 2))
		j.fill(ledger.Backfilled{Planned: 3}, 0, 1, 2)
		j.fill(ledger.Backfilled{Unchanged: 3}, 0, 1, 2)
		if n := len(t.all("j")); n != 3 {
			t.Errorf("%d rows for 3 scheduled times", n)
		}
	}},
	{"an unknown job is not found", func(t *fixture) {
		_, err := t.Backfill(t.ctx, ledger.BackfillRequest{JobID: "nobody", Actor: ledger.Actor{By: "ann", Why: "x"}})
		if !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("%v, want ErrNotFound", err)
		}
	}},
}

// fill backfills these scheduled times, of overlap allow, and checks the counts.
func (j *job) fill(want ledger.Backfilled, is ...int) {
	j.Helper()
	if got := j.backfill(false, is...); got != want {
		j.Fatalf("backfilled %+v, want %+v", got, want)
	}
}

func (j *job) backfill(dry bool, is ...int) ledger.Backfilled {
	j.Helper()
	got, err := j.Backfill(j.ctx, j.request(dry, is...))
	j.must(err)
	return got
}

// request asks for these scheduled times, of overlap allow.
func (j *job) request(dry bool, is ...int) ledger.BackfillRequest {
	b := ledger.BackfillRequest{JobID: j.JobID, Actor: ledger.Actor{By: "ann", Why: "outage"}, DryRun: dry}
	for _, i := range is {
		b.Runs = append(b.Runs, j.planned(i, ledger.OverlapAllow))
	}
	return b
}

// filled checks a scheduled time that a backfill made planned.
func (j *job) filled(i int) {
	j.Helper()
	r := j.wantState(j.id(i), ledger.Planned, "")
	if r.Trigger != ledger.ByBackfill || r.By != "ann" || r.Why != "outage" || r.Count != 1 || !r.Until.IsZero() ||
		!r.FinishedAt.IsZero() || !r.ScheduledAt.Equal(j.at(i)) || r.Revision != j.Revision {
		j.Errorf("row %+v", r)
	}
	j.sameCall("backfilled", r.Call, callOf(j.JobID))
}

func backfills(t *fixture) {
	j := t.job("j")
	old := j.missed(1)
	old.State, old.Reason = ledger.Superseded, ledger.ReasonNewerRun
	got := j.admit(j.missed(0), old, j.leased(2, ledger.OverlapSkip), j.planned(3, ledger.OverlapSkip), j.planned(4, ledger.OverlapAllow))
	t.wantState(j.id(3), ledger.Skipped, ledger.ReasonOverlap)
	t.canceled(j.id(4))
	t.record(succeeded(got.Leased[0]))
	j.fill(ledger.Backfilled{Planned: 4, Unchanged: 1}, 0, 1, 2, 3, 4)
	for _, i := range []int{0, 1, 3, 4} {
		j.filled(i)
	}
	t.wantState(j.id(2), ledger.Succeeded, "")
}

// backfillWith backfills the first scheduled time with another call.
func (j *job) backfillWith(path string) ledger.Backfilled {
	j.Helper()
	in := j.planned(0, ledger.OverlapSkip)
	in.Call.Path = path
	got, err := j.Backfill(j.ctx, ledger.BackfillRequest{JobID: j.JobID, Runs: []ledger.RunSpec{in}, Actor: ledger.Actor{By: "ann", Why: "outage"}})
	j.must(err)
	return got
}
