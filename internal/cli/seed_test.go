package cli_test

import (
	"slices"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/sqlite"
)

const membershipRegistry = `version: 1
name: acme-platform
targets:
  membership:
    urlEnv: MEMBERSHIP_URL
    auth: { type: bearer, token: { env: MEMBERSHIP_TOKEN } }
jobs:
  - { id: release-locks, schedule: "0 * * * *", target: membership, path: /v1/admin/locks/release, scopes: ["membership:admin", "locks"] }
  - { id: close-books, schedule: "0 0 * * *", timezone: Europe/London, target: membership, path: /v1/admin/books/close, overlap: queue }
  - { id: new-year, schedule: "at(2026-01-01T00:00:00)", target: membership, path: /v1/admin/greet }
  - { id: asleep, schedule: "@daily", target: membership, path: /v1/admin/sleep, enabled: false }
`

// history is a ledger in which a scheduler has served the desk's registry from
// midnight to eleven, with one of every fate.
func (d *desk) history() {
	d.Helper()
	clock := noon.Add(-12 * time.Hour)
	reg, err := jobs.Load(d.env["CRONCE_CONFIG"])
	d.must(err)
	l, err := sqlite.Open(d.Context(), d.path("ledger.db"), sqlite.Options{Now: func() time.Time { return clock }})
	d.must(err)
	defer l.Close()
	d.must(l.Declare(d.Context(), declaration(reg)))
	assignments, err := l.Assignments(d.Context(), reg.Version(), "")
	d.must(err)
	clock = noon.Add(-time.Hour)
	for _, s := range assignments {
		if s.JobID != "release-locks" {
			continue
		}
		j, _ := reg.Job(s.JobID)
		got, err := l.Admit(d.Context(), ledger.Admission{Process: "p1", Token: "t1", LeaseFor: time.Minute, Plans: []ledger.Plan{{
			JobID: s.JobID, Revision: s.Revision, After: s.Watermark, Through: clock, Runs: pastRuns(j),
		}}})
		d.must(err)
		if len(got.Stale) > 0 || len(got.Leased) != 4 {
			d.Fatalf("admitted %+v", got)
		}
		_, err = l.Record(d.Context(), outcomes(got.Leased, clock))
		d.must(err)
	}
	d.must(l.PauseJob(d.Context(), "close-books", ledger.Actor{By: "bob", Why: "the auditors are in"}))
}

// declare lets the ledger know the desk's registry, as a process does that serves it.
func (d *desk) declare() {
	d.Helper()
	reg, err := jobs.Load(d.env["CRONCE_CONFIG"])
	d.must(err)
	l, err := sqlite.Open(d.Context(), d.path("ledger.db"), sqlite.Options{Now: func() time.Time { return noon }})
	d.must(err)
	defer l.Close()
	d.must(l.Declare(d.Context(), declaration(reg)))
	_, err = l.Assignments(d.Context(), reg.Version(), "")
	d.must(err)
}

func (d *desk) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

func declaration(reg *jobs.Registry) ledger.Declaration {
	var defs []ledger.Definition
	dec := ledger.Declaration{Process: "p1", Registry: reg.Name(), Version: reg.Version()}
	for d := range reg.Definitions() {
		defs = append(defs, ledger.Definition(d))
	}
	dec.Definitions = slices.Values(defs)
	return dec
}

// pastRuns are the job's scheduled times from one to eleven: a range that was missed, two
// superseded, and seven that were planned, of which four are leased.
func pastRuns(j jobs.Job) []ledger.RunSpec {
	hour := func(n int) time.Time { return noon.Add(time.Duration(n-12) * time.Hour) }
	missed := ledger.RunSpec{
		RunID: jobs.RangeID(j.ID, hour(1), hour(3)), ScheduledAt: hour(1), Until: hour(3), Count: 3,
		State: ledger.Missed, Reason: ledger.ReasonCatchUpWindow, Trigger: ledger.BySchedule,
	}
	out := []ledger.RunSpec{missed}
	for n := 4; n <= 11; n++ {
		id := jobs.RunID(j.ID, hour(n))
		in := ledger.RunSpec{RunID: id, ScheduledAt: hour(n), Count: 1, State: ledger.Planned, Trigger: ledger.BySchedule,
			Overlap: ledger.OverlapAllow, Call: executor.FrozenCall(j, id, hour(n)), Lease: n <= 8}
		switch n {
		case 4:
			in = ledger.RunSpec{RunID: id, ScheduledAt: hour(n), Count: 1, State: ledger.Superseded, Reason: ledger.ReasonNewerRun, Trigger: ledger.BySchedule}
		case 10, 11:
			in.Overlap, in.Lease = ledger.OverlapSkip, false // ten takes the slot, eleven finds it taken
		}
		out = append(out, in)
	}
	return out
}

// outcomes: fresh; replayed at the second attempt's first sight; dead of a
// refusal; dead of an unknown outcome.
func outcomes(work []ledger.Work, now time.Time) []ledger.Outcome {
	slices.SortFunc(work, func(a, b ledger.Work) int { return a.ScheduledAt.Compare(b.ScheduledAt) })
	var out []ledger.Outcome
	for i, w := range work {
		o := ledger.Outcome{
			Lease: ledger.Lease{RunID: w.RunID, Token: w.Token}, State: ledger.Succeeded,
			Attempt: ledger.Attempt{RunID: w.RunID, N: 1, StartedAt: now, FinishedAt: now.Add(120 * time.Millisecond), Answer: ledger.AnswerFresh, Status: 200, Process: "p1"},
		}
		switch i {
		case 1:
			o.Replayed, o.Attempt.Answer = true, ledger.AnswerReplayed
		case 2:
			o.State, o.Reason = ledger.Dead, ledger.ReasonPermanent
			o.Attempt.Answer, o.Attempt.Status, o.Attempt.Code = ledger.AnswerRefused, 404, "no_such_route"
			o.Attempt.Error = "HTTP 404 (no_such_route): the target refuses the call"
		case 3:
			o.State, o.Reason = ledger.Dead, ledger.ReasonExhausted
			o.Attempt.Answer, o.Attempt.Status, o.Attempt.Error = ledger.AnswerUnknown, 0, "no answer within the attempt's time"
		}
		out = append(out, o)
	}
	return out
}
