package ledgertest

import (
	"errors"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

var incidentCases = []testCase{
	{"a dead run opens an incident with its reason and error", incidentDead},
	{"one job and cause have one open incident, which counts", incidentOne},
	{"a record repeated after a lost answer counts once", incidentRepeated},
	{"a record whose lease was lost opens and closes nothing", incidentFenced},
	{"the job's next success closes its incidents", incidentClosed},
	{"the success of another job closes nothing", incidentNeighbor},
	{"a success and a dead run in one record leave it open", incidentBoth},
	{"a retry opens and closes nothing", incidentRetry},
	{"a run that a claim finds expired opens an incident", incidentExpired},
	{"missed rows open an incident that counts scheduled times", incidentMissed},
	{"a missed row that is there already opens nothing", incidentMissedBefore},
	{"a problem soon after the closing opens the same incident again", incidentReopened},
	{"a problem long after the closing opens another incident", incidentAnother},
	{"an acknowledgement is kept, and changes once", incidentAcked},
	{"an incident that an operator closed is not opened again", incidentSettled},
	{"what is observed opens and closes by its list", incidentObserved},
	{"incidents are listed newest first, by page", incidentPages},
	{"a purge deletes closed incidents past their retention", incidentPurged},
	{"an error that is no text is kept as text", incidentBytes},
}

// incidents are all of the job's incidents, newest first.
func (b *bed) incidents(jobID string) []ledger.Incident {
	b.Helper()
	list, err := b.Incidents(b.ctx, ledger.IncidentFilter{JobID: jobID})
	b.must(err)
	return list
}

// incident is the job's only incident.
func (b *bed) incident(jobID string) ledger.Incident {
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

// diesOf is a dead run with an error.
func diesOf(w ledger.Work, why ledger.Reason, text string) ledger.Outcome {
	o := dead(w, why)
	o.Attempt.Error = text
	return o
}

func incidentDead(b *bed) {
	w := b.job("j").lease(0)
	b.record(diesOf(w, ledger.Exhausted, "503 from the target"))
	i := b.incident("j")
	if i.Cause != ledger.CauseDead || i.Reason != ledger.Exhausted || i.Error != "503 from the target" || i.RunID != w.RunID ||
		i.Count != 1 || i.Reopened != 0 || !i.Open() || i.OpenedAt.IsZero() || !i.LastAt.Equal(i.OpenedAt) || !i.DueAt.Equal(i.OpenedAt) {
		b.Errorf("incident %+v", i)
	}
	if c, err := b.Counts(b.ctx); err != nil || c.Incidents != 1 {
		b.Errorf("counts %+v (%v), want 1 incident", c, err)
	}
}

func incidentOne(b *bed) {
	j := b.job("j")
	first, second := j.lease(0), j.lease(0)
	b.record(diesOf(first, ledger.Exhausted, "one"))
	before := b.incident("j")
	b.pass(time.Minute)
	b.record(diesOf(second, ledger.Permanent, "two"))
	i := b.incident("j")
	if i.ID != before.ID || i.Count != 2 || i.Reason != ledger.Permanent || i.Error != "two" || i.RunID != second.RunID ||
		!i.OpenedAt.Equal(before.OpenedAt) || !i.LastAt.After(before.LastAt) || i.Version == before.Version {
		b.Errorf("incident %+v, was %+v", i, before)
	}
	third, fourth := j.lease(0), j.lease(0)
	b.record(diesOf(fourth, ledger.Exhausted, "four"), diesOf(third, ledger.Exhausted, "three"))
	if i := b.incident("j"); i.Count != 4 || i.RunID != fourth.RunID || i.Error != "four" {
		b.Errorf("incident %+v", i)
	}
}

func incidentRepeated(b *bed) {
	j := b.job("j")
	w := j.lease(0)
	b.record(dead(w, ledger.Exhausted))
	b.record(dead(w, ledger.Exhausted))
	if i := b.incident("j"); i.Count != 1 {
		b.Errorf("incident %+v", i)
	}
	other := j.lease(0)
	b.record(succeeded(other))
	closed := b.incident("j")
	b.record(dead(w, ledger.Exhausted))
	b.record(succeeded(other))
	if i := b.incident("j"); i.Open() || i.Version != closed.Version {
		b.Errorf("incident %+v, was %+v", i, closed)
	}
}

func incidentFenced(b *bed) {
	j := b.job("j")
	w := j.lease(0)
	b.pass(2 * lease)
	again := b.take("p2", w.RunID)
	b.late(dead(w, ledger.Exhausted))
	if list := b.incidents("j"); len(list) != 0 {
		b.Errorf("incidents %+v, want none", list)
	}
	b.record(dead(again, ledger.Exhausted))
	forged := j.lease(0)
	forged.Token = b.token()
	b.late(succeeded(forged))
	if i := b.incident("j"); !i.Open() {
		b.Errorf("incident %+v was closed by a fenced record", i)
	}
}

func incidentClosed(b *bed) {
	j := b.job("j")
	b.record(dead(j.lease(0), ledger.Exhausted))
	j.admit(j.missed(0))
	j.Position = j.next().Position
	w := j.lease(0)
	b.record(succeeded(w))
	list := b.incidents("j")
	if len(list) != 2 {
		b.Fatalf("incidents %+v", list)
	}
	for _, i := range list {
		if i.Open() || i.ClosedBy != w.RunID || i.Settled || !i.DueAt.Equal(i.ClosedAt) {
			b.Errorf("incident %+v, want closed by %s", i, w.RunID)
		}
	}
	if c, err := b.Counts(b.ctx); err != nil || c.Incidents != 0 {
		b.Errorf("counts %+v (%v), want no incident", c, err)
	}
}

func incidentNeighbor(b *bed) {
	j, near := b.job("j"), b.job("j-2")
	b.record(dead(j.lease(0), ledger.Exhausted))
	b.record(succeeded(near.lease(0)))
	if i := b.incident("j"); !i.Open() {
		b.Errorf("incident %+v", i)
	}
}

func incidentBoth(b *bed) {
	j := b.job("j")
	b.record(dead(j.lease(0), ledger.Exhausted))
	b.record(succeeded(j.lease(0)), dead(j.lease(0), ledger.Permanent))
	if i := b.incident("j"); !i.Open() || i.Count != 2 || i.Reopened != 0 {
		b.Errorf("incident %+v", i)
	}
}

func incidentRetry(b *bed) {
	j := b.job("j")
	w := j.lease(0)
	b.record(retrying(w, time.Hour))
	if list := b.incidents("j"); len(list) != 0 {
		b.Errorf("incidents %+v, want none", list)
	}
	b.record(dead(j.lease(0), ledger.Exhausted))
	b.record(unsent(j.lease(0), time.Hour))
	if i := b.incident("j"); !i.Open() {
		b.Errorf("incident %+v", i)
	}
}

func incidentExpired(b *bed) {
	j := b.job("j")
	w, v := j.lease(0), j.lease(0)
	b.pass(2 * horizon)
	if got := b.claim("p2", 10); len(got.Expired) != 2 {
		b.Fatalf("expired %+v", got.Expired)
	}
	if i := b.incident("j"); i.Cause != ledger.CauseDead || i.Reason != ledger.KeyExpired || i.Count != 2 || i.RunID != max(w.RunID, v.RunID) || i.Error != "" {
		b.Errorf("incident %+v", i)
	}
}

func incidentMissed(b *bed) {
	j := b.job("j")
	j.admit(j.rangeOf(0, 4), j.missed(5), j.planned(6, ledger.OverlapSkip))
	i := b.incident("j")
	if i.Cause != ledger.CauseMissed || i.Reason != ledger.CatchUpWindow || i.Count != 6 || i.RunID != j.id(5) {
		b.Errorf("incident %+v", i)
	}
}

func incidentMissedBefore(b *bed) {
	j := b.job("j")
	_, err := b.Enter(b.ctx, ledger.Entry{JobID: "j", RunSpec: j.planned(0, ledger.OverlapAllow)})
	b.must(err)
	j.admit(j.missed(0))
	if list := b.incidents("j"); len(list) != 0 {
		b.Errorf("incidents %+v, want none: the run is there", list)
	}
}

func incidentReopened(b *bed) {
	j := b.job("j")
	b.record(dead(j.lease(0), ledger.Exhausted))
	b.record(succeeded(j.lease(0)))
	was := b.incident("j")
	b.pass(ledger.ReopenWithin - time.Minute)
	b.record(dead(j.lease(0), ledger.Permanent))
	i := b.incident("j")
	if i.ID != was.ID || !i.Open() || i.Reopened != 1 || i.Count != 2 || i.ClosedBy != "" || !i.OpenedAt.Equal(was.OpenedAt) {
		b.Errorf("incident %+v, was %+v", i, was)
	}
}

func incidentAnother(b *bed) {
	j := b.job("j")
	b.record(dead(j.lease(0), ledger.Exhausted))
	b.record(succeeded(j.lease(0)))
	b.pass(ledger.ReopenWithin + time.Minute)
	b.record(dead(j.lease(0), ledger.Permanent))
	list := b.incidents("j")
	if len(list) != 2 || !list[0].Open() || list[0].Count != 1 || list[1].Open() || list[0].ID <= list[1].ID {
		b.Errorf("incidents %+v", list)
	}
}

func (b *bed) ack(id int64, end bool) ledger.Incident {
	b.Helper()
	i, err := b.AckIncident(b.ctx, ledger.IncidentAct{ID: id, Close: end, Actor: ledger.Actor{By: "ann", Why: "on it", Via: ledger.ViaCLI}})
	b.must(err)
	return i
}

func incidentAcked(b *bed) {
	j := b.job("j")
	b.record(dead(j.lease(0), ledger.Exhausted))
	id := b.incident("j").ID
	i := b.ack(id, false)
	if !i.Open() || i.AckedAt.IsZero() || i.AckedBy != "ann" || i.Why != "on it" {
		b.Errorf("incident %+v", i)
	}
	b.pass(time.Minute)
	if again := b.ack(id, false); again.Version != i.Version || !again.AckedAt.Equal(i.AckedAt) {
		b.Errorf("a repeated acknowledgement made %+v of %+v", again, i)
	}
	b.record(succeeded(j.lease(0)))
	b.record(dead(j.lease(0), ledger.Exhausted))
	if i := b.incident("j"); i.AckedAt.IsZero() || i.Reopened != 1 {
		b.Errorf("incident %+v, want acknowledged still", i)
	}
	acts, err := b.Audit(b.ctx, ledger.AuditFilter{JobID: "j"})
	b.must(err)
	if len(acts) != 1 || acts[0].Act != ledger.ActAckIncident || acts[0].By != "ann" || acts[0].RunID != "" {
		b.Errorf("audit %+v", acts)
	}
	if _, err := b.AckIncident(b.ctx, ledger.IncidentAct{ID: id + 1000}); !errors.Is(err, ledger.ErrNotFound) {
		b.Errorf("acknowledging an unknown incident: %v", err)
	}
}

func incidentSettled(b *bed) {
	j := b.job("j")
	b.record(dead(j.lease(0), ledger.Exhausted))
	i := b.ack(b.incident("j").ID, true)
	if i.Open() || i.ClosedBy != "ann" || !i.Settled {
		b.Errorf("incident %+v", i)
	}
	b.record(dead(j.lease(0), ledger.Exhausted))
	if list := b.incidents("j"); len(list) != 2 || !list[0].Open() || list[0].Count != 1 || list[1].Open() {
		b.Errorf("incidents %+v", list)
	}
}

func incidentObserved(b *bed) {
	b.must(b.Observe(b.ctx, ledger.CauseUnplanned, []ledger.Trouble{{JobID: "a", Error: "nobody"}, {JobID: "b"}}))
	was := b.incident("a")
	if was.Cause != ledger.CauseUnplanned || was.Error != "nobody" || was.RunID != "" || was.Count != 1 {
		b.Errorf("incident %+v", was)
	}
	b.must(b.Observe(b.ctx, ledger.CauseOverdue, nil))
	b.must(b.Observe(b.ctx, ledger.CauseUnplanned, []ledger.Trouble{{JobID: "a", Error: "still nobody"}}))
	if i := b.incident("a"); i.Version != was.Version || !i.Open() {
		b.Errorf("a problem that lasts made %+v of %+v", i, was)
	}
	if i := b.incident("b"); i.Open() || i.ClosedBy != "" || i.Settled {
		b.Errorf("incident %+v, want closed", i)
	}
	b.record(succeeded(b.job("a").lease(0)))
	if i := b.incident("a"); !i.Open() {
		b.Errorf("a success closed %+v; only a process that plans the job does", i)
	}
}

func incidentPages(b *bed) {
	for _, id := range []string{"a", "b", "c"} {
		b.record(dead(b.job(id).lease(0), ledger.Exhausted))
	}
	b.ack(b.incident("b").ID, true)
	all, err := b.Incidents(b.ctx, ledger.IncidentFilter{})
	b.must(err)
	if len(all) != 3 || all[0].JobID != "c" || all[2].JobID != "a" {
		b.Fatalf("incidents %+v", all)
	}
	page, err := b.Incidents(b.ctx, ledger.IncidentFilter{Before: all[0].ID, Limit: 1})
	b.must(err)
	if len(page) != 1 || page[0].JobID != "b" {
		b.Errorf("page %+v", page)
	}
	open, err := b.Incidents(b.ctx, ledger.IncidentFilter{Open: true})
	b.must(err)
	if len(open) != 2 || open[0].JobID != "c" || open[1].JobID != "a" {
		b.Errorf("open %+v", open)
	}
	one, err := b.Incidents(b.ctx, ledger.IncidentFilter{ID: all[1].ID})
	b.must(err)
	if len(one) != 1 || one[0].JobID != "b" {
		b.Errorf("by ID %+v", one)
	}
}

func incidentPurged(b *bed) {
	j := b.job("j")
	b.record(dead(j.lease(0), ledger.Exhausted))
	b.record(dead(b.job("open").lease(0), ledger.Exhausted))
	b.record(succeeded(j.lease(0)))
	purge := func(dry bool) int {
		got, err := b.PurgeHistory(b.ctx, ledger.HistoryPurge{Retention: 48 * time.Hour, AuditRetention: 48 * time.Hour, DryRun: dry})
		b.must(err)
		return got.Incidents
	}
	b.pass(47 * time.Hour)
	if n := purge(false); n != 0 {
		b.Errorf("purged %d incidents within their retention", n)
	}
	b.pass(2 * time.Hour)
	if n := purge(true); n != 1 {
		b.Errorf("a dry run counts %d, want 1", n)
	}
	if n := purge(false); n != 1 {
		b.Errorf("purged %d, want 1", n)
	}
	if len(b.incidents("j")) != 0 || !b.incident("open").Open() {
		b.Error("the wrong incident was purged")
	}
}

func incidentBytes(b *bed) {
	b.record(diesOf(b.job("j").lease(0), ledger.Permanent, "a\x00b\xff"+strings.Repeat("x", 2*ledger.IncidentErrorLimit)))
	if i := b.incident("j"); !strings.HasPrefix(i.Error, "a") || len(i.Error) > ledger.IncidentErrorLimit+4 {
		b.Errorf("error %q", i.Error)
	}
}
