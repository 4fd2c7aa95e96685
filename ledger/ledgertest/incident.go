package ledgertest

import (
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

var incidentCases = []testCase{
	{"a dead run opens an incident with its reason and error", func(t *fixture) {
		w := t.job("j").lease(0)
		t.record(deadWithError(w, ledger.ReasonExhausted, "503 from the target"))
		i := t.incident("j")
		if i.Cause != ledger.IncidentDead || i.Reason != ledger.ReasonExhausted || i.Error != "503 from the target" || i.RunID != w.RunID ||
			i.Count != 1 || i.Reopened != 0 || !i.Open() || i.OpenedAt.IsZero() || !i.LastAt.Equal(i.OpenedAt) || !i.DueAt.Equal(i.OpenedAt) {
			t.Errorf("incident %+v", i)
		}
		if c, err := t.Counts(t.ctx); err != nil || c.Incidents != 1 {
			t.Errorf("counts %+v (%v), want 1 incident", c, err)
		}
		if list, err := t.Jobs(t.ctx); err != nil || len(list[0].Incidents) != 1 || list[0].Incidents[0].ID != i.ID {
			t.Errorf("jobs %+v (%v), want incident %d", list, err, i.ID)
		}
	}},
	{"one job and cause have one open incident, which counts", func(t *fixture) {
		j := t.job("j")
		first, second := j.lease(0), j.lease(0)
		t.record(deadWithError(first, ledger.ReasonExhausted, "one"))
		before := t.incident("j")
		t.advance(time.Minute)
		t.record(deadWithError(second, ledger.ReasonPermanent, "two"))
		i := t.incident("j")
		if i.ID != before.ID || i.Count != 2 || i.Reason != ledger.ReasonPermanent || i.Error != "two" || i.RunID != second.RunID ||
			!i.OpenedAt.Equal(before.OpenedAt) || !i.LastAt.After(before.LastAt) || i.Version == before.Version {
			t.Errorf("incident %+v, was %+v", i, before)
		}
		third, fourth := j.lease(0), j.lease(0)
		t.record(deadWithError(fourth, ledger.ReasonExhausted, "four"), deadWithError(third, ledger.ReasonExhausted, "three"))
		if i := t.incident("j"); i.Count != 4 || i.RunID != fourth.RunID || i.Error != "four" {
			t.Errorf("incident %+v", i)
		}
	}},
	{"a record repeated after a lost answer counts once", func(t *fixture) {
		j := t.job("j")
		w := j.lease(0)
		t.record(dead(w, ledger.ReasonExhausted))
		t.record(dead(w, ledger.ReasonExhausted))
		if i := t.incident("j"); i.Count != 1 {
			t.Errorf("incident %+v", i)
		}
		other := j.lease(0)
		t.record(succeeded(other))
		closed := t.incident("j")
		t.record(dead(w, ledger.ReasonExhausted))
		t.record(succeeded(other))
		if i := t.incident("j"); i.Open() || i.Version != closed.Version {
			t.Errorf("incident %+v, was %+v", i, closed)
		}
	}},
	{"a record whose lease was lost opens and closes nothing", func(t *fixture) {
		j := t.job("j")
		w := j.lease(0)
		t.advance(2 * lease)
		again := t.claimOne("p2", w.RunID)
		t.wantFenced(dead(w, ledger.ReasonExhausted))
		if list := t.incidents("j"); len(list) != 0 {
			t.Errorf("incidents %+v, want none", list)
		}
		t.record(dead(again, ledger.ReasonExhausted))
		forged := j.lease(0)
		forged.Token = t.token()
		t.wantFenced(succeeded(forged))
		if i := t.incident("j"); !i.Open() {
			t.Errorf("incident %+v was closed by a fenced record", i)
		}
	}},
	{"the job's next success closes its incidents", func(t *fixture) {
		j := t.job("j")
		t.record(dead(j.lease(0), ledger.ReasonExhausted))
		j.admit(j.missed(0))
		j.Position = j.next().Position
		w := j.lease(0)
		t.record(succeeded(w))
		list := t.incidents("j")
		if len(list) != 2 {
			t.Fatalf("incidents %+v", list)
		}
		for _, i := range list {
			if i.Open() || i.ClosedBy != w.RunID || i.ClosedByOperator || !i.DueAt.Equal(i.ClosedAt) {
				t.Errorf("incident %+v, want closed by %s", i, w.RunID)
			}
		}
		if c, err := t.Counts(t.ctx); err != nil || c.Incidents != 0 {
			t.Errorf("counts %+v (%v), want no incident", c, err)
		}
		if list, err := t.Jobs(t.ctx, "j"); err != nil || len(list[0].Incidents) != 0 {
			t.Errorf("jobs %+v (%v), want no incident", list, err)
		}
	}},
	{"the success of another job closes nothing", func(t *fixture) {
		j, near := t.job("j"), t.job("j-2")
		t.record(dead(j.lease(0), ledger.ReasonExhausted))
		t.record(succeeded(near.lease(0)))
		if i := t.incident("j"); !i.Open() {
			t.Errorf("incident %+v", i)
		}
	}},
	{"a success and a dead run in one record leave it open", func(t *fixture) {
		j := t.job("j")
		t.record(dead(j.lease(0), ledger.ReasonExhausted))
		t.record(succeeded(j.lease(0)), dead(j.lease(0), ledger.ReasonPermanent))
		if i := t.incident("j"); !i.Open() || i.Count != 2 || i.Reopened != 0 {
			t.Errorf("incident %+v", i)
		}
	}},
	{"a key that expires early opens an incident and bounds the run", func(t *fixture) {
		j := t.job("j")
		w := j.lease(0)
		o := retrying(w, time.Minute)
		o.KeySafeUntil = t.get(w.RunID).StartedAt.Add(2 * time.Minute)
		t.record(o)
		if i := t.incident("j"); i.Cause != ledger.IncidentExpiry || i.Count != 1 || i.RunID != w.RunID || !strings.Contains(i.Error, "keyTTLs") {
			t.Errorf("incident %+v", i)
		}
		if r := t.get(w.RunID); !r.KeySafeUntil.Equal(o.KeySafeUntil) || !r.SendBefore.Equal(o.KeySafeUntil) || r.State != ledger.Retrying {
			t.Errorf("row %+v, want it to be sent until %s", r, o.KeySafeUntil)
		}
		t.advance(time.Minute)
		o = succeeded(t.claimOne("p1", w.RunID))
		o.KeySafeUntil = t.get(w.RunID).KeySafeUntil
		t.record(o)
		if i := t.incident("j"); i.Count != 2 || !i.Open() {
			t.Errorf("incident %+v, want it open: the success has the same problem", i)
		}
		t.record(succeeded(j.lease(1)))
		if open, err := t.Incidents(t.ctx, ledger.IncidentFilter{Open: true}); err != nil || len(open) != 0 {
			t.Errorf("open %+v, %v: want it closed by the success", open, err)
		}
	}},
	{"a run that a claim finds past sendBefore opens an incident", func(t *fixture) {
		j := t.job("j")
		w, v := j.lease(0), j.lease(0)
		t.advance(2 * horizon)
		if got := t.claim("p2", 10); len(got.PastSendBefore) != 2 {
			t.Fatalf("past send-before %+v", got.PastSendBefore)
		}
		if i := t.incident("j"); i.Cause != ledger.IncidentDead || i.Reason != ledger.ReasonKeyExpired || i.Count != 2 ||
			i.RunID != max(w.RunID, v.RunID) || i.Error != "" {
			t.Errorf("incident %+v", i)
		}
	}},
	{"an incident has the last run that a claim found past sendBefore, whatever its limit", func(t *fixture) {
		j := t.job("j")
		for i, wait := range []time.Duration{time.Minute, time.Second} { // the second is due first
			t.record(retrying(*t.mustEnter(j.entry(j.leased(i, ledger.OverlapAllow))).Work, wait))
		}
		t.advance(2 * horizon)
		if got := t.claim("p", 1); len(got.PastSendBefore) != 2 {
			t.Fatalf("past send-before %+v", got.PastSendBefore)
		}
		if i := t.incident("j"); i.Count != 2 || i.RunID != j.id(0) {
			t.Errorf("incident %+v, want 2 runs, %s last", i, j.id(0))
		}
	}},
	{"missed rows open an incident that counts scheduled times", func(t *fixture) {
		j := t.job("j")
		j.admit(j.rangeOf(0, 4), j.missed(5), j.planned(6, ledger.OverlapSkip))
		i := t.incident("j")
		if i.Cause != ledger.IncidentMissed || i.Reason != ledger.ReasonCatchUpWindow || i.Count != 6 || i.RunID != j.id(5) {
			t.Errorf("incident %+v", i)
		}
	}},
	{"a missed row that is there already opens nothing", func(t *fixture) {
		j := t.job("j")
		_, err := t.Enter(t.ctx, ledger.Entry{JobID: "j", RunSpec: j.planned(0, ledger.OverlapAllow)})
		t.must(err)
		j.admit(j.missed(0))
		if list := t.incidents("j"); len(list) != 0 {
			t.Errorf("incidents %+v, want none: the run is there", list)
		}
	}},
	{"a problem soon after the closing opens the same incident again", func(t *fixture) {
		j := t.job("j")
		t.record(dead(j.lease(0), ledger.ReasonExhausted))
		t.record(succeeded(j.lease(0)))
		was := t.incident("j")
		t.advance(ledger.ReopenWithin - time.Minute)
		t.record(dead(j.lease(0), ledger.ReasonPermanent))
		i := t.incident("j")
		if i.ID != was.ID || !i.Open() || i.Reopened != 1 || i.Count != 2 || i.ClosedBy != "" || !i.OpenedAt.Equal(was.OpenedAt) {
			t.Errorf("incident %+v, was %+v", i, was)
		}
	}},
	{"a problem long after the closing opens another incident", func(t *fixture) {
		j := t.job("j")
		t.record(dead(j.lease(0), ledger.ReasonExhausted))
		t.record(succeeded(j.lease(0)))
		t.advance(ledger.ReopenWithin + time.Minute)
		t.record(dead(j.lease(0), ledger.ReasonPermanent))
		list := t.incidents("j")
		if len(list) != 2 || !list[0].Open() || list[0].Count != 1 || list[1].Open() || list[0].ID <= list[1].ID {
			t.Errorf("incidents %+v", list)
		}
	}},
	{"what is observed opens and closes by its list", func(t *fixture) {
		t.must(t.ReconcileIncidents(t.ctx, ledger.IncidentUnplanned, []ledger.JobProblem{{JobID: "a", Error: "nobody"}, {JobID: "b"}}))
		was := t.incident("a")
		if was.Cause != ledger.IncidentUnplanned || was.Error != "nobody" || was.RunID != "" || was.Count != 1 {
			t.Errorf("incident %+v", was)
		}
		t.must(t.ReconcileIncidents(t.ctx, ledger.IncidentOverdue, nil))
		t.must(t.ReconcileIncidents(t.ctx, ledger.IncidentUnplanned, []ledger.JobProblem{{JobID: "a", Error: "still nobody"}}))
		if i := t.incident("a"); i.Version != was.Version || !i.Open() {
			t.Errorf("a problem that lasts made %+v of %+v", i, was)
		}
		if i := t.incident("b"); i.Open() || i.ClosedBy != "" || i.ClosedByOperator {
			t.Errorf("incident %+v, want closed", i)
		}
		t.record(succeeded(t.job("a").lease(0)))
		if i := t.incident("a"); !i.Open() {
			t.Errorf("a success closed %+v; only a process that plans the job does", i)
		}
	}},
	{"a redriven run that becomes dead again counts again", func(t *fixture) {
		j, _ := t.newDead("j")
		t.wantChanged(t.Redrive(t.ctx, actionOn(j.id(0))))(j.id(0))
		t.record(dead(t.claimOne("p2", j.id(0)), ledger.ReasonExhausted))
		if i := t.incident("j"); i.Count != 2 || i.RunID != j.id(0) || i.Reopened != 0 {
			t.Errorf("incident %+v, want 2 problems of one run", i)
		}
	}},
	{"an error that is no text is kept as text", func(t *fixture) {
		t.record(deadWithError(t.job("j").lease(0), ledger.ReasonPermanent, "a\x00b\xff"+strings.Repeat("x", 2*ledger.IncidentErrorLimit)))
		if i := t.incident("j"); !strings.HasPrefix(i.Error, "a") || len(i.Error) > ledger.IncidentErrorLimit+4 {
			t.Errorf("error %q", i.Error)
		}
	}},
}

// incidents returns all of the job's incidents, newest first.
func (t *fixture) incidents(jobID string) []ledger.Incident {
	t.Helper()
	list, err := t.Incidents(t.ctx, ledger.IncidentFilter{JobID: jobID})
	t.must(err)
	return list
}

// incident returns the job's only incident.
func (t *fixture) incident(jobID string) ledger.Incident {
	t.Helper()
	list := t.incidents(jobID)
	if len(list) != 1 {
		t.Fatalf("%d incidents of %s, want 1: %+v", len(list), jobID, list)
	}
	return list[0]
}

// lease admits and leases the i-th scheduled time.
func (j *job) lease(i int) ledger.Work {
	j.Helper()
	got := j.admit(j.leased(i, ledger.OverlapAllow))
	if len(got.Leased) != 1 {
		j.Fatalf("leased %v", runIDs(got.Leased))
	}
	j.Position = j.next().Position
	return got.Leased[0]
}

// deadWithError returns a dead run with an error.
func deadWithError(w ledger.Work, why ledger.Reason, text string) ledger.Outcome {
	o := dead(w, why)
	o.Attempt.Error = text
	return o
}

// notificationOf returns a notification of an incident.
func notificationOf(i ledger.Incident, token string) ledger.Entry {
	at := i.OpenedAt.Truncate(time.Second)
	return ledger.Entry{JobID: "notify-ops", RunSpec: ledger.RunSpec{
		RunID: runID("notify-ops", at) + "~" + token, ScheduledAt: at, Count: 1, State: ledger.Planned,
		Trigger: ledger.ByIncident, Overlap: ledger.OverlapAllow, Call: callOf("notify-ops"),
	}}
}

func (t *fixture) dueIncidents() []ledger.Incident {
	t.Helper()
	list, err := t.Incidents(t.ctx, ledger.IncidentFilter{Due: true})
	t.must(err)
	return list
}
