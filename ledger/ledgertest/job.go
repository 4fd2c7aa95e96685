package ledgertest

import (
	"encoding/json"
	"time"

	"github.com/cronce/cronce/ledger"
)

// job is a job's position, from which a case plans.
type job struct {
	*fixture
	ledger.Position
}

// at returns the i-th scheduled time after the watermark, a minute apart, from 0.
func (j *job) at(i int) time.Time {
	return j.Watermark.UTC().Truncate(time.Minute).Add(time.Duration(i+1) * time.Minute)
}

// id returns the run ID of the i-th scheduled time.
func (j *job) id(i int) string { return runID(j.JobID, j.at(i)) }

func runID(jobID string, at time.Time) string {
	return jobID + "@" + at.UTC().Format(time.RFC3339)
}

// callOf returns the call of the i-th run.
func callOf(jobID string) ledger.CallSpec {
	return ledger.CallSpec{
		Target: "target-of-" + jobID, Method: "POST", Path: "/v1/admin/work",
		Body: json.RawMessage(`{"z": 1,"a":"<` + jobID + `> & é"}`), Scopes: []string{"work:admin"},
		Headers: map[string]string{"X-Edition": "<2> \"é\"", "X-Job": jobID},
		Timeout: 30 * time.Second, Backoff: []time.Duration{time.Second, 2 * time.Second},
		Jitter: 0.2, MaxRetryAfter: time.Minute, Horizon: horizon, MaxInFlight: 3,
	}
}

// planned returns the i-th scheduled time, to run on time.
func (j *job) planned(i int, o ledger.Overlap) ledger.RunSpec {
	return ledger.RunSpec{
		RunID: j.id(i), ScheduledAt: j.at(i), Count: 1, State: ledger.Planned,
		Trigger: ledger.BySchedule, Overlap: o, Call: callOf(j.JobID),
	}
}

// leased returns the i-th scheduled time, to start in the admission.
func (j *job) leased(i int, o ledger.Overlap) ledger.RunSpec {
	in := j.planned(i, o)
	in.Lease = true
	return in
}

// missed returns one scheduled time that comes too late.
func (j *job) missed(i int) ledger.RunSpec {
	return ledger.RunSpec{
		RunID: j.id(i), ScheduledAt: j.at(i), Count: 1,
		State: ledger.Missed, Reason: ledger.ReasonCatchUpWindow, Trigger: ledger.BySchedule,
	}
}

// rangeOf returns a range row over the i-th to the k-th scheduled time.
func (j *job) rangeOf(i, k int) ledger.RunSpec {
	in := j.missed(i)
	in.RunID, in.Until, in.Count = j.rangeID(i, k), j.at(k), k-i+1
	return in
}

func (j *job) rangeID(i, k int) string {
	return j.id(i) + "/" + j.at(k).Format(time.RFC3339)
}

// plan returns the job's scheduled times up to the i-th.
func (j *job) plan(through int, ins ...ledger.RunSpec) ledger.Plan {
	return ledger.Plan{JobID: j.JobID, Revision: j.Revision, After: j.Watermark, Through: j.at(through), Runs: ins}
}

// admission returns one beat of process p1.
func (t *fixture) admission(plans ...ledger.Plan) ledger.Admission {
	return ledger.Admission{Plans: plans, Process: "p1", Token: t.token(), LeaseFor: lease}
}

// admit makes a plan through the last of its scheduled times, which must be admitted,
// and moves the job on: i still counts from the watermark before.
func (j *job) admit(ins ...ledger.RunSpec) ledger.Admitted {
	j.Helper()
	last := ins[len(ins)-1]
	through := last.ScheduledAt
	if !last.Until.IsZero() {
		through = last.Until
	}
	got, err := j.Admit(j.ctx, j.admission(ledger.Plan{
		JobID: j.JobID, Revision: j.Revision, After: j.Watermark, Through: through, Runs: ins,
	}))
	j.must(err)
	if len(got.Stale) != 0 {
		j.Fatalf("plan refused: %+v", got.Stale)
	}
	return got
}

// next returns the job after what was admitted.
func (j *job) next() *job { return j.now(j.JobID) }
