// Package try makes the calls of a job, at a chosen scheduled time and under the key that
// the run of that time has, and looks for faults in how the target treats keys. The calls
// are real and have real effects. Nothing is written to a ledger. The command `try` uses
// this package.
//
// A trial sees answers and no effects. It cannot show that a target is idempotent: that the
// effect and the key are committed together, once, and before the answer. Package conform
// tests that, with a service that follows its protocol. The checks are cases of conform,
// with their names and rules.
package try

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/targets"
)

// Config selects what to try. Targets and Job are required.
type Config struct {
	Targets  *targets.Targets
	Registry string // the name of the registry, which the calls carry
	Job      jobs.Job
	Name     string // the target's name in the report; empty: Job.Target
	// At is the scheduled time whose key the calls have. Zero: the calls have the key of a
	// run that is triggered at Now, which no other run has.
	At time.Time
	// TTL is how long the target keeps the job's keys, as the registry declares; 0: it
	// declares nothing.
	TTL time.Duration
	// ChangedBody is the body of the call with a changed body; empty: the job's body
	// with one more field.
	ChangedBody string
	Now         time.Time
}

// Report is the result of a trial.
type Report struct {
	Outcome  Outcome  `json:"outcome"`
	Summary  string   `json:"summary"` // the outcome in words, with what was tried
	Target   string   `json:"target"`
	Method   string   `json:"method"`
	Path     string   `json:"path"`
	RunID    string   `json:"runId"`
	Key      string   `json:"key"` // in the form that the target takes
	Checks   []Check  `json:"checks"`
	NotTried []string `json:"notTried"` // the cases of package conform that were not tried
	Calls    []Call   `json:"calls"`
}

// Run makes the calls and checks their answers. It returns an error if ctx ends. Calls
// that were sent may have had their effects then.
func Run(ctx context.Context, c Config) (Report, error) {
	t := c.trial(c.At)
	if err := t.run(ctx); err != nil {
		return Report{}, fmt.Errorf("%w; calls that were sent may have had their effects", err)
	}
	r := Report{
		Target: cmp.Or(c.Name, c.Job.Target), Method: c.Job.Method, Path: c.Job.Path,
		RunID: t.runID, Key: c.Job.Key.Form.Of(t.runID), Calls: t.calls, Checks: t.checks(),
	}
	r.conclude()
	return r, nil
}

// trial returns the trial of a scheduled time, or, if that is zero, of a new ad hoc run.
func (c Config) trial(at time.Time) *trial {
	if at.IsZero() {
		now := c.Now.UTC().Truncate(time.Second)
		return &trial{Config: c, at: now, runID: jobs.RunIDWithToken(c.Job.ID, now, uuid.Must(uuid.NewV7()).String()), unused: true}
	}
	return &trial{Config: c, at: at, runID: jobs.RunID(c.Job.ID, at)}
}

// Validate returns an error if the job cannot be tried: for a method that carries no key, a
// timeout that is not positive, a ChangedBody that is not JSON, and an At that is not a
// scheduled time of the job.
func (c Config) Validate() error {
	switch {
	case !slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}, c.Job.Method):
		return fmt.Errorf("the method %s takes no key; use POST, PUT, PATCH or DELETE", c.Job.Method)
	case c.Job.Timeout <= 0:
		return fmt.Errorf("invalid timeout %s; use a time such as 30s", c.Job.Timeout)
	case c.ChangedBody != "" && !json.Valid([]byte(c.ChangedBody)):
		return errors.New("the changed body is not JSON")
	case c.At.IsZero():
		return nil
	}
	s := c.Job.ParsedSchedule()
	if before := s.Last(c.At); !before.Equal(c.At) {
		return fmt.Errorf("%s is not a scheduled time of %s; the nearest are %s", text(c.At), c.Job.ID, nearest(before, s.Next(c.At)))
	}
	return nil
}

func nearest(before, after time.Time) string {
	switch {
	case before.IsZero():
		return text(after)
	case after.IsZero():
		return text(before)
	}
	return text(before) + " and " + text(after)
}

func text(t time.Time) string { return t.UTC().Format(time.RFC3339) }
