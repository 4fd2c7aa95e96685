package try

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cronce/cronce/internal/plural"
	"github.com/cronce/cronce/ledger"
)

// MaxTimes is the maximum number of scheduled times of RunTimes.
const MaxTimes = 10_000

// TimeResult is the result of one scheduled time.
type TimeResult struct {
	ScheduledAt time.Time   `json:"scheduledAt"`
	RunID       string      `json:"runId"`
	Key         string      `json:"key"`
	Status      int         `json:"status"`
	Answer      string      `json:"answer"` // to the first call
	Again       string      `json:"again"`  // to the same call again
	Verdict     CheckAnswer `json:"verdict"`
	Detail      string      `json:"detail,omitempty"` // why the verdict is not yes
}

// TimesReport is the result of RunTimes.
type TimesReport struct {
	Outcome Outcome      `json:"outcome"`
	Summary string       `json:"summary"`
	Times   []TimeResult `json:"times"`
}

// Times returns the scheduled times of the job from a time to another, without the last.
func (c Config) Times(from, to time.Time) (times []time.Time, err error) {
	for at := range c.Job.ParsedSchedule().Due(from.Add(-time.Nanosecond), to.Add(-time.Nanosecond)) {
		if times = append(times, at); len(times) > MaxTimes {
			return nil, fmt.Errorf("more than %d scheduled times from %s to %s; choose a shorter time", MaxTimes, text(from), text(to))
		}
	}
	if len(times) == 0 {
		return nil, fmt.Errorf("%s has no scheduled time from %s to %s", c.Job.ID, text(from), text(to))
	}
	return times, nil
}

// RunTimes makes the call of each scheduled time twice, one time after the other, as fast as
// the target answers. If ctx ends, it returns the report of the times so far, and an error.
func RunTimes(ctx context.Context, c Config, times []time.Time) (TimesReport, error) {
	r := TimesReport{Times: []TimeResult{}}
	for _, at := range times {
		t := c.trial(at)
		result := t.twice(ctx)
		if ctx.Err() != nil {
			r.conclude()
			return r, errors.New("interrupted; calls that were sent may have had their effects")
		}
		r.Times = append(r.Times, result)
	}
	r.conclude()
	return r, nil
}

// twice makes the call of a run, and the same call again.
func (t *trial) twice(ctx context.Context) TimeResult {
	body := t.Job.RequestBody(t.runID, t.at)
	t.first = t.call(ctx, "first", body)
	r := TimeResult{ScheduledAt: t.at, RunID: t.runID, Key: t.first.Key, Status: t.first.Status, Answer: string(t.first.Answer)}
	if !t.first.done() {
		r.Verdict, r.Detail = Unclear, t.first.inWords()
		return r
	}
	t.again = t.call(ctx, "the same again", body)
	r.Again = string(t.again.Answer)
	if same := t.sameAnswer(); same.Answer != Yes {
		r.Verdict, r.Detail = same.Answer, same.Detail
		return r
	}
	r.Verdict = Yes
	return r
}

func (r *TimesReport) conclude() {
	var faults, unclear, known int
	for _, t := range r.Times {
		switch {
		case t.Verdict == No:
			faults++
		case t.Verdict == Unclear:
			unclear++
		case t.Answer == string(ledger.AnswerReplayed):
			known++
		}
	}
	tried := plural.Of(len(r.Times), "scheduled time")
	switch {
	case faults > 0:
		r.Outcome, r.Summary = FaultFound, fmt.Sprintf("%s: at %d the same call again had another answer", tried, faults)
	case unclear > 0:
		r.Outcome, r.Summary = Inconclusive, fmt.Sprintf("%s: at %d nothing can be said", tried, unclear)
	default:
		r.Outcome, r.Summary = NoFaultFound, fmt.Sprintf("%s: each call again had the answer of the first; %s", tried, notSeen)
	}
	if known > 0 {
		r.Summary += fmt.Sprintf("; %d keys had been used before", known)
	}
}
