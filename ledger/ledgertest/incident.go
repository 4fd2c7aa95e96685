package ledgertest

import (
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

var incidentCases = []testCase{
	{"a dead run opens an incident with its reason and error", func(b *fixture) {
		w := b.job("j").lease(0)
		b.record(deadWithError(w, ledger.ReasonExhausted, "503 from the target"))
		i := b.incident("j")
		if i.Cause != ledger.IncidentDead || i.Reason != ledger.ReasonExhausted || i.Error != "503 from the target" || i.RunID != w.RunID ||
			i.Count != 1 || i.Reopened != 0 || !i.Open() || i.OpenedAt.IsZero() || !i.LastAt.Equal(i.OpenedAt) || !i.DueAt.Equal(i.OpenedAt) {
			b.Errorf("incident %+v", i)
		}
		if c, err := b.Counts(b.ctx); err != nil || c.Incidents != 1 {
			b.Errorf("counts %+v (%v), want 1 incident", c, err)
		}
		if list, err := b.Jobs(b.ctx); err != nil || len(list[0].Incidents) != 1 || list[0].Incidents[0].ID != i.ID {
			b.Errorf("jobs %+v (%v), want incident %d", list, err, i.ID)
		}
	}},
	{"one job and cause have one open incident, which counts", func(b *fixture) {
		j := b.job("j")
		first, second := j.lease(0), j.lease(0)
		b.record(deadWithError(first, ledger.ReasonExhausted, "one"))
		before := b.incident("j")
		b.advance(time.Minute)
		b.record(deadWithError(second, ledger.ReasonPermanent, "two"))
		i := b.incident("j")
		if i.ID != before.ID || i.Count != 2 || i.Reason != ledger.ReasonPermanent || i.Error != "two" || i.RunID != second.RunID ||
			!i.OpenedAt.Equal(before.OpenedAt) || !i.LastAt.After(before.LastAt) || i.Version == before.Version {
			b.Errorf("incident %+v, was %+v", i, before)
		}
		third, fourth := j.lease(0), j.lease(0)
		b.record(deadWithError(fourth, ledger.ReasonExhausted, "four"), deadWithError(third, ledger.ReasonExhausted, "three"))
		if i := b.incident("j"); i.Count != 4 || i.RunID != fourth.RunID || i.Error != "four" {
			b.Errorf("incident %+v", i)
		}
	}},
	{"a record repeated after a lost answer counts once", func(b *fixture) {
		j := b.job("j")
		w := j.lease(0)
		b.record(dead(w, ledger.ReasonExhausted))
		b.record(dead(w, ledger.ReasonExhausted))
		if i := b.incident("j"); i.Count != 1 {
			b.Errorf("incident %+v", i)
		}
		other := j.lease(0)
		b.record(succeeded(other))
		closed := b.incident("j")
		b.record(dead(w, ledger.ReasonExhausted))
		b.record(succeeded(other))
		if i := b.incident("j"); i.Open() || i.Version != closed.Version {
			b.Errorf("incident %+v, was %+v", i, closed)
		}
	}},
	{"a record whose lease was lost opens and closes nothing", func(b *fixture) {
		j := b.job("j")
		w := j.lease(0)
		b.advance(2 * lease)
		again := b.claimOne("p2", w.RunID)
		b.wantFenced(dead(w, ledger.ReasonExhausted))
		if list := b.incidents("j"); len(list) != 0 {
			b.Errorf("incidents %+v, want none", list)
		}
		b.record(dead(again, ledger.ReasonExhausted))
		forged := j.lease(0)
		forged.Token = b.token()
		b.wantFenced(succeeded(forged))
		if i := b.incident("j"); !i.Open() {
			b.Errorf("incident %+v was closed by a fenced record", i)
		}
	}},
	{"the job's next success closes its incidents", func(b *fixture) {
		j := b.job("j")
		b.record(dead(j.lease(0), ledger.ReasonExhausted))
		j.admit(j.missed(0))
		j.Position = j.next().Position
		w := j.lease(0)
		b.record(succeeded(w))
		list := b.incidents("j")
		if len(list) != 2 {
			b.Fatalf("incidents %+v", list)
		}
		for _, i := range list {
			if i.Open() || i.ClosedBy != w.RunID || i.ClosedByOperator || !i.DueAt.Equal(i.ClosedAt) {
				b.Errorf("incident %+v, want closed by %s", i, w.RunID)
			}
		}
		if c, err := b.Counts(b.ctx); err != nil || c.Incidents != 0 {
			b.Errorf("counts %+v (%v), want no incident", c, err)
		}
		if list, err := b.Jobs(b.ctx, "j"); err != nil || len(list[0].Incidents) != 0 {
			b.Errorf("jobs %+v (%v), want no incident", list, err)
		}
	}},
	{"the success of another job closes nothing", func(b *fixture) {
		j, near := b.job("j"), b.job("j-2")
		b.record(dead(j.lease(0), ledger.ReasonExhausted))
		b.record(succeeded(near.lease(0)))
		if i := b.incident("j"); !i.Open() {
			b.Errorf("incident %+v", i)
		}
	}},
	{"a success and a dead run in one record leave it open", func(b *fixture) {
		j := b.job("j")
		b.record(dead(j.lease(0), ledger.ReasonExhausted))
		b.record(succeeded(j.lease(0)), dead(j.lease(0), ledger.ReasonPermanent))
		if i := b.incident("j"); !i.Open() || i.Count != 2 || i.Reopened != 0 {
			b.Errorf("incident %+v", i)
		}
	}},
	{"a key that expires early opens an incident and bounds the run", func(b *fixture) {
		j := b.job("j")
		w := j.lease(0)
		o := retrying(w, time.Minute)
		o.KeySafeUntil = b.get(w.RunID).StartedAt.Add(2 * time.Minute)
		b.record(o)
		if i := b.incident("j"); i.Cause != ledger.IncidentExpiry || i.Count != 1 || i.RunID != w.RunID || !strings.Contains(i.Error, "keyTTLs") {
			b.Errorf("incident %+v", i)
		}
		if r := b.get(w.RunID); !r.KeySafeUntil.Equal(o.KeySafeUntil) || !r.SendBefore.Equal(o.KeySafeUntil) || r.State != ledger.Retrying {
			b.Errorf("row %+v, want it to be sent until %s", r, o.KeySafeUntil)
		}
		b.advance(time.Minute)
		o = succeeded(b.claimOne("p1", w.RunID))
		o.KeySafeUntil = b.get(w.RunID).KeySafeUntil
		b.record(o)
		if i := b.incident("j"); i.Count != 2 || !i.Open() {
			b.Errorf("incident %+v, want it open: the success has the same problem", i)
		}
		b.record(succeeded(j.lease(1)))
		if open, err := b.Incidents(b.ctx, ledger.IncidentFilter{Open: true}); err != nil || len(open) != 0 {
			b.Errorf("open %+v, %v: want it closed by the success", open, err)
		}
	}},
	{"a run that a claim finds past sendBefore opens an incident", func(b *fixture) {
		j := b.job("j")
		w, v := j.lease(0), j.lease(0)
		b.advance(2 * horizon)
		if got := b.claim("p2", 10); len(got.PastSendBefore) != 2 {
			b.Fatalf("past send-before %+v", got.PastSendBefore)
		}
		if i := b.incident("j"); i.Cause != ledger.IncidentDead || i.Reason != ledger.ReasonKeyExpired || i.Count != 2 ||
			i.RunID != max(w.RunID, v.RunID) || i.Error != "" {
			b.Errorf("incident %+v", i)
		}
	}},
	{"an incident has the last run that a claim found past sendBefore, whatever its limit", func(b *fixture) {
		j := b.job("j")
		for i, wait := range []time.Duration{time.Minute, time.Second} { // the second is due first
			b.record(retrying(*b.mustEnter(j.entry(j.leased(i, ledger.OverlapAllow))).Work, wait))
		}
		b.advance(2 * horizon)
		if got := b.claim("p", 1); len(got.PastSendBefore) != 2 {
			b.Fatalf("past send-before %+v", got.PastSendBefore)
		}
		if i := b.incident("j"); i.Count != 2 || i.RunID != j.id(0) {
			b.Errorf("incident %+v, want 2 runs, %s last", i, j.id(0))
		}
	}},
	{"missed rows open an incident that counts scheduled times", func(b *fixture) {
		j := b.job("j")
		j.admit(j.rangeOf(0, 4), j.missed(5), j.planned(6, ledger.OverlapSkip))
		i := b.incident("j")
		if i.Cause != ledger.IncidentMissed || i.Reason != ledger.ReasonCatchUpWindow || i.Count != 6 || i.RunID != j.id(5) {
			b.Errorf("incident %+v", i)
		}
	}},
	{"a missed row that is there already opens nothing", func(b *fixture) {
		j := b.job("j")
		_, err := b.Enter(b.ctx, ledger.Entry{JobID: "j", RunSpec: j.planned(0, ledger.OverlapAllow)})
		b.must(err)
		j.admit(j.missed(0))
		if list := b.incidents("j"); len(list) != 0 {
			b.Errorf("incidents %+v, want none: the run is there", list)
		}
	}},
	{"a problem soon after the closing opens the same incident again", func(b *fixture) {
		j := b.job("j")
		b.record(dead(j.lease(0), ledger.ReasonExhausted))
		b.record(succeeded(j.lease(0)))
		was := b.incident("j")
		b.advance(ledger.ReopenWithin - time.Minute)
		b.record(dead(j.lease(0), ledger.ReasonPermanent))
		i := b.incident("j")
		if i.ID != was.ID || !i.Open() || i.Reopened != 1 || i.Count != 2 || i.ClosedBy != "" || !i.OpenedAt.Equal(was.OpenedAt) {
			b.Errorf("incident %+v, was %+v", i, was)
		}
	}},
	{"a problem long after the closing opens another incident", func(b *fixture) {
		j := b.job("j")
		b.record(dead(j.lease(0), ledger.ReasonExhausted))
		b.record(succeeded(j.lease(0)))
		b.advance(ledger.ReopenWithin + time.Minute)
		b.record(dead(j.lease(0), ledger.ReasonPermanent))
		list := b.incidents("j")
		if len(list) != 2 || !list[0].Open() || list[0].Count != 1 || list[1].Open() || list[0].ID <= list[1].ID {
			b.Errorf("incidents %+v", list)
		}
	}},
	{"what is observed opens and closes by its list", func(b *fixture) {
		b.must(b.ReconcileIncidents(b.ctx, ledger.IncidentUnplanned, []ledger.JobProblem{{JobID: "a", Error: "nobody"}, {JobID: "b"}}))
		was := b.incident("a")
		if was.Cause != ledger.IncidentUnplanned || was.Error != "nobody" || was.RunID != "" || was.Count != 1 {
			b.Errorf("incident %+v", was)
		}
		b.must(b.ReconcileIncidents(b.ctx, ledger.IncidentOverdue, nil))
		b.must(b.ReconcileIncidents(b.ctx, ledger.IncidentUnplanned, []ledger.JobProblem{{JobID: "a", Error: "still nobody"}}))
		if i := b.incident("a"); i.Version != was.Version || !i.Open() {
			b.Errorf("a problem that lasts made %+v of %+v", i, was)
		}
		if i := b.incident("b"); i.Open() || i.ClosedBy != "" || i.ClosedByOperator {
			b.Errorf("incident %+v, want closed", i)
		}
		b.record(succeeded(b.job("a").lease(0)))
		if i := b.incident("a"); !i.Open() {
			b.Errorf("a success closed %+v; only a process that plans the job does", i)
		}
	}},
	{"a redriven run that becomes dead again counts again", func(b *fixture) {
		j, _ := b.newDead("j")
		b.wantChanged(b.Redrive(b.ctx, actionOn(j.id(0))))(j.id(0))
		b.record(dead(b.claimOne("p2", j.id(0)), ledger.ReasonExhausted))
		if i := b.incident("j"); i.Count != 2 || i.RunID != j.id(0) || i.Reopened != 0 {
			b.Errorf("incident %+v, want 2 problems of one run", i)
		}
	}},
	{"an error that is no text is kept as text", func(b *fixture) {
		b.record(deadWithError(b.job("j").lease(0), ledger.ReasonPermanent, "a\x00b\xff"+strings.Repeat("x", 2*ledger.IncidentErrorLimit)))
		if i := b.incident("j"); !strings.HasPrefix(i.Error, "a") || len(i.Error) > ledger.IncidentErrorLimit+4 {
			b.Errorf("error %q", i.Error)
		}
	}},
}

// incidents are all of the job's incidents, newest first.
func (b *fixture) incidents(jobID string) []ledger.Incident {
	b.Helper()
	list, err := b.Incidents(b.ctx, ledger.IncidentFilter{JobID: jobID})
	b.must(err)
	return list
}

// incident is the job's only incident.
func (b *fixture) incident(jobID string) ledger.Incident {
	b.Helper()
	list := b.incidents(jobID)
	if len(list) != 1 {
		b.Fatalf("%d incidents of %s, want 1: %+v", len(list), jobID, list)
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

// deadWithError is a dead run with an error.
func deadWithError(w ledger.Work, why ledger.Reason, text string) ledger.Outcome {
	o := dead(w, why)
	o.Attempt.Error = text
	return o
}

// notificationOf is a notification of an incident.
func notificationOf(i ledger.Incident, token string) ledger.Entry {
	at := i.OpenedAt.Truncate(time.Second)
	return ledger.Entry{JobID: "notify-ops", RunSpec: ledger.RunSpec{
		RunID: runID("notify-ops", at) + "~" + token, ScheduledAt: at, Count: 1, State: ledger.Planned,
		Trigger: ledger.ByIncident, Overlap: ledger.OverlapAllow, Call: callOf("notify-ops"),
	}}
}

func (b *fixture) dueIncidents() []ledger.Incident {
	b.Helper()
	list, err := b.Incidents(b.ctx, ledger.IncidentFilter{Due: true})
	b.must(err)
	return list
}
