package ledgertest

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

var whyCases = []testCase{
	{"a run that waits for the slot names the run that has it", func(t *fixture) {
		j := t.job("j")
		t.declare("p1", "v1-of-j", "j")
		j.admit(j.leased(0, ledger.OverlapQueue), j.planned(1, ledger.OverlapQueue), j.planned(2, ledger.OverlapAllow))
		if got := t.wantWait(j.id(1), ledger.WaitSlotTaken); got.Text != "run "+j.id(0)+" has the job's slot" {
			t.Errorf("text %q", got.Text)
		}
		t.wantWait(j.id(2), ledger.WaitQueued)
	}},
	{"a run of a job at its limit says so", func(t *fixture) {
		j := t.job("j")
		t.declare("p1", "v1-of-j", "j")
		held, waits := j.leased(0, ledger.OverlapAllow), j.planned(1, ledger.OverlapAllow)
		held.Call.MaxInFlight, waits.Call.MaxInFlight = 1, 1
		j.admit(held, waits)
		t.wantWait(j.id(1), ledger.WaitLimitReached)
	}},
	{"a run without a live process says so before all else", func(t *fixture) {
		j, w := t.newStarted("j")
		t.record(givenBack(w, breaker))
		t.must(t.Deregister(t.ctx, "p1"))
		t.advance(2 * ledger.ProcessTTL)
		t.wantWait(j.id(0), ledger.WaitNoProcess)
		t.declare("p2", "v1", "j")
		t.wantWait(j.id(0), ledger.WaitBreakerOpen)
	}},
	{"a due run is queued, a later one is not due, one given back says why", func(t *fixture) {
		j := t.job("j")
		t.declare("p1", "v1-of-j", "j")
		work := j.admit(j.leased(0, ledger.OverlapAllow), j.planned(1, ledger.OverlapAllow), j.leased(2, ledger.OverlapAllow)).Leased
		t.record(retrying(work[0], time.Hour), givenBack(work[1], breaker))
		t.wantWait(j.id(0), ledger.WaitNotDue)
		if got := t.wantWait(j.id(2), ledger.WaitBreakerOpen); got != breaker {
			t.Errorf("waits for %+v", got)
		}
	}},
	{"a due run waits for what its target waits for", func(t *fixture) {
		// A process leases nothing for a target that is held back, so most of its runs were
		// never leased.
		j := t.job("j")
		t.declare("p1", "v1-of-j", "j")
		given, waits, other, fourth := j.leased(0, ledger.OverlapAllow), j.planned(1, ledger.OverlapAllow), j.planned(2, ledger.OverlapAllow),
			j.leased(3, ledger.OverlapAllow)
		other.Call.Target, fourth.Call.Target = "other", "other"
		work := j.admit(given, waits, other, fourth).Leased
		t.record(givenBackFor(work[0], breaker, time.Minute),
			givenBackFor(work[1], ledger.WaitReason{Code: ledger.WaitNotSent, Text: "the run's own"}, time.Minute))
		if got, want := t.wantWait(j.id(1), ledger.WaitBreakerOpen), t.waitText(j.id(0)); got.Text != want {
			t.Errorf("text %q, want %q", got.Text, want)
		}
		t.wantWait(j.id(2), ledger.WaitQueued)
		t.canceled(j.id(0))
		t.wantWait(j.id(1), ledger.WaitQueued)
	}},
	{"a target's cause is not told after the wait of the run that has it", func(t *fixture) {
		// The target has recovered, and the run that was given back is not the oldest of the
		// backlog: its row has the old cause for a while.
		j := t.job("j")
		t.declare("p1", "v1-of-j", "j")
		work := j.admit(j.leased(0, ledger.OverlapAllow), j.leased(1, ledger.OverlapAllow), j.planned(2, ledger.OverlapAllow)).Leased
		t.record(givenBackFor(work[0], breaker, 10*time.Second))
		t.record(succeeded(work[1]))
		if got, want := t.wantWait(j.id(2), ledger.WaitBreakerOpen), t.waitText(j.id(0)); got.Text != want {
			t.Errorf("text %q, want %q", got.Text, want)
		}
		t.advance(10 * time.Second)
		t.wantWait(j.id(2), ledger.WaitQueued)
		t.wantWait(j.id(0), ledger.WaitBreakerOpen)
	}},
	{"each cause of a target is told, and no other", func(t *fixture) {
		j := t.job("j")
		t.declare("p1", "v1-of-j", "j")
		var runs []ledger.RunSpec
		codes := []ledger.WaitCode{ledger.WaitNoToken, ledger.WaitBreakerOpen, ledger.WaitTargetNotConfigured, ledger.WaitNotSent}
		for i, code := range codes {
			given, waits := j.leased(2*i, ledger.OverlapAllow), j.planned(2*i+1, ledger.OverlapAllow)
			given.Call.Target, waits.Call.Target = string(code), string(code)
			runs = append(runs, given, waits)
		}
		var outcomes []ledger.Outcome
		for i, w := range j.admit(runs...).Leased {
			outcomes = append(outcomes, givenBackFor(w, ledger.WaitReason{Code: codes[i], Text: "why"}, time.Minute))
		}
		t.record(outcomes...)
		for i, o := range outcomes {
			want := ledger.WaitQueued
			if o.WaitReason.OfTarget() {
				want = codes[i]
			}
			t.wantWait(j.id(2*i+1), want)
		}
	}},
	{"of several causes of a target the one that ends last is told", func(t *fixture) {
		j := t.job("j")
		t.declare("p1", "v1-of-j", "j")
		work := j.admit(j.leased(0, ledger.OverlapAllow), j.leased(1, ledger.OverlapAllow), j.leased(2, ledger.OverlapAllow),
			j.planned(3, ledger.OverlapAllow)).Leased
		noToken := ledger.WaitReason{Code: ledger.WaitNoToken}
		t.record(givenBackFor(work[0], breaker, 10*time.Second), givenBackFor(work[2], noToken, 10*time.Second))
		if got, want := t.wantWait(j.id(3), ledger.WaitNoToken), t.waitText(j.id(2)); got.Text != want {
			t.Errorf("of two that end together: text %q, want %q", got.Text, want)
		}
		t.record(givenBackFor(work[1], breaker, 20*time.Second))
		if got, want := t.wantWait(j.id(3), ledger.WaitBreakerOpen), t.waitText(j.id(1)); got.Text != want {
			t.Errorf("text %q, want %q", got.Text, want)
		}
		t.advance(10 * time.Second)
		t.wantWait(j.id(3), ledger.WaitBreakerOpen)
	}},
	{"only planned and retrying runs wait", func(t *fixture) {
		j, w := t.newStarted("j")
		t.wantWait(j.id(0), "")
		t.record(succeeded(w))
		t.wantWait(j.id(0), "")
		got, err := t.Waiting(t.ctx, nil)
		t.must(err)
		if len(got) != 0 {
			t.Errorf("of no runs %v wait", got)
		}
	}},
	{"a job names the unfinished run that has its slot", func(t *fixture) {
		if s := t.status(t.job("i").JobID); s.SlotRun != nil {
			t.Errorf("without a run: %+v", s.SlotRun)
		}
		j := t.job("j")
		got := j.admit(j.leased(0, ledger.OverlapSkip), j.planned(1, ledger.OverlapSkip), j.planned(2, ledger.OverlapAllow))
		t.record(givenBack(got.Leased[0], breaker))
		s := t.status("j")
		if s.LastRun == nil || s.LastRun.ID != j.id(2) || s.SlotRun == nil || s.SlotRun.ID != j.id(0) || s.SlotRun.State != ledger.Planned {
			t.Errorf("last %+v, in the slot %+v, want %s", s.LastRun, s.SlotRun, j.id(0))
		}
		t.canceled(j.id(0))
		if s := t.status("j"); s.SlotRun != nil {
			t.Errorf("a free slot has %+v", s.SlotRun)
		}
	}},
	{"a job's last outcome passes over runs that did not run", func(t *fixture) {
		if s := t.status(t.job("i").JobID); s.LastOutcome != nil || !s.FailingSince.IsZero() || s.DeadUnacknowledged != 0 {
			t.Errorf("without a run: %+v", s)
		}
		j := t.job("j")
		j.ends(ledger.Succeeded, ledger.Missed)
		s := t.status("j")
		if s.LastRun == nil || s.LastRun.ID != j.id(1) || s.LastOutcome == nil || s.LastOutcome.ID != j.id(0) || !s.FailingSince.IsZero() {
			t.Errorf("%+v", s)
		}
		k := t.job("k")
		k.ends(ledger.Missed)
		if s := t.status("k"); s.LastOutcome != nil {
			t.Errorf("of a run that was missed: %+v", s.LastOutcome)
		}
	}},
	{"a job fails since the first dead run after its last success", func(t *fixture) {
		j := t.job("j")
		j.ends(ledger.Dead, ledger.Succeeded, ledger.Dead, ledger.Missed, ledger.Dead, ledger.Missed)
		s := t.status("j")
		if s.LastOutcome == nil || s.LastOutcome.ID != j.id(4) || s.LastOutcome.State != ledger.Dead || !s.FailingSince.Equal(j.at(2)) {
			t.Errorf("last %+v, failing since %s, want %s since %s", s.LastOutcome, s.FailingSince, j.id(4), j.at(2))
		}
		k := t.job("k")
		k.ends(ledger.Missed, ledger.Dead, ledger.Dead)
		if s := t.status("k"); !s.FailingSince.Equal(k.at(1)) {
			t.Errorf("never well: failing since %s, want %s", s.FailingSince, k.at(1))
		}
		l := t.job("l")
		l.ends(ledger.Dead, ledger.Succeeded)
		if s := t.status("l"); !s.FailingSince.IsZero() || s.LastOutcome.ID != l.id(1) {
			t.Errorf("well again: %+v", s)
		}
	}},
	{"a job counts its unacknowledged dead runs", func(t *fixture) {
		j := t.job("j")
		j.ends(ledger.Dead, ledger.Dead, ledger.Succeeded, ledger.Dead)
		t.job("k").ends(ledger.Dead)
		if s := t.status("j"); s.DeadUnacknowledged != 3 {
			t.Errorf("%d dead runs, want 3", s.DeadUnacknowledged)
		}
		t.wantChanged(t.Ack(t.ctx, actionOn(j.id(0), j.id(3))))(j.id(0), j.id(3))
		if s := t.status("j"); s.DeadUnacknowledged != 1 || t.status("k").DeadUnacknowledged != 1 {
			t.Errorf("%d dead runs left, want 1", s.DeadUnacknowledged)
		}
	}},
}

// waitReasonOf returns why one run waits.
func (t *fixture) waitReasonOf(runID string) ledger.WaitReason {
	t.Helper()
	got, err := t.Waiting(t.ctx, []string{runID, "none@2026-01-01T00:00:00Z"})
	t.must(err)
	return got[runID]
}

// wantWait fails unless a run waits for that code.
func (t *fixture) wantWait(runID string, want ledger.WaitCode) ledger.WaitReason {
	t.Helper()
	got := t.waitReasonOf(runID)
	if got.Code != want {
		t.Errorf("%s waits for %+v, want %s", runID, got, want)
	}
	return got
}

// givenBackFor gives a lease back for a while and says why.
func givenBackFor(w ledger.Work, why ledger.WaitReason, wait time.Duration) ledger.Outcome {
	o := givenBack(w, why)
	o.Wait = wait
	return o
}

// waitText returns the text of why the other runs of a run's target wait.
func (t *fixture) waitText(runID string) string {
	r := t.get(runID)
	text := "run " + runID + " of the same target was given back until " + r.NextAt.UTC().Format(time.RFC3339)
	if r.WaitReason.Text != "" {
		text += ": " + r.WaitReason.Text
	}
	return text
}

// ends admits and takes the job's scheduled times one after the other, and lets each
// end in its state.
func (j *job) ends(states ...ledger.State) {
	j.Helper()
	after := j.Watermark
	for i, s := range states {
		in := j.leased(i, ledger.OverlapSkip)
		if s == ledger.Missed {
			in = j.missed(i)
		}
		got, err := j.Admit(j.ctx, j.admission(ledger.Plan{JobID: j.JobID, Revision: j.Revision, After: after, Through: j.at(i),
			Runs: []ledger.RunSpec{in}}))
		j.must(err)
		after = j.at(i)
		switch s {
		case ledger.Dead:
			j.record(dead(got.Leased[0], ledger.ReasonExhausted))
		case ledger.Succeeded:
			j.record(succeeded(got.Leased[0]))
		}
	}
}
