package operations

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Verdict says in a word what is known of a job at a time.
type Verdict string

const (
	Recorded     Verdict = "recorded"      // the ledger has a row for it
	NotScheduled Verdict = "not_scheduled" // the job is not due then
	Future       Verdict = "future"        // it is due then, and that time has not come
	BeforeJob    Verdict = "before_job"    // the ledger did not know the job then
	Purged       Verdict = "purged"        // what became of it is no longer known
	NotPlanned   Verdict = "not_planned"   // it is due, and no process has planned it yet
	DisabledJob  Verdict = "disabled"      // the registry has the job disabled
)

// Explanation is why a job ran, or did not, at a time.
type Explanation struct {
	JobID   string  `json:"jobId"`
	At      string  `json:"at"`
	Verdict Verdict `json:"verdict"`
	Text    string  `json:"text"` // one sentence
	// Run is the row that accounts for the time, perhaps a range row.
	Run *Run `json:"run,omitempty"`
	// Previous and Next are the scheduled times around At.
	Previous string `json:"previous,omitempty"`
	Next     string `json:"next,omitempty"`
}

// Why explains what became of a job at any time.
func (s *Service) Why(ctx context.Context, jobID string, at time.Time) (Explanation, error) {
	at = at.UTC().Truncate(time.Second)
	v := Explanation{JobID: jobID, At: scheduledTime(at)}
	if err := s.KnownJob(ctx, jobID); err != nil || jobID == "" {
		return v, errors.Join(err, emptyJob(jobID))
	}
	reg, err := s.registry()
	var j jobs.Job
	var registered bool
	if err == nil {
		j, registered = reg.Job(jobID)
	}
	if registered {
		v.Previous, v.Next = scheduledTime(j.Parsed().Last(at.Add(-time.Second))), scheduledTime(j.Parsed().Next(at))
	}
	run, found, err := s.covering(ctx, jobID, at)
	if err != nil {
		return v, err
	}
	if found {
		if err := s.addWaiting(ctx, &run); err != nil {
			return v, err
		}
		r := RunOf(run)
		v.Verdict, v.Run, v.Text = Recorded, &r, r.Sentence()
		return v, nil
	}
	status, known, err := s.status(ctx, jobID)
	if err != nil {
		return v, err
	}
	due := registered && j.Parsed().Last(at).Equal(at)
	v.Verdict, v.Text = s.unrecorded(j, registered, due, status, known, at)
	return v, nil
}

func emptyJob(id string) error {
	if id == "" {
		return refuse(Invalid, "the question names no job; say which job (job)")
	}
	return nil
}

// unrecorded explains a time that no row accounts for.
func (s *Service) unrecorded(j jobs.Job, registered, due bool, st ledger.JobStatus, known bool, at time.Time) (Verdict, string) {
	switch {
	case known && !st.PurgedBefore.IsZero() && !at.After(st.PurgedBefore):
		return Purged, "what happened then was purged from the ledger, which knows nothing of the job at or before " + scheduledTime(st.PurgedBefore)
	case !registered:
		return NotScheduled, "the job left the registry, and the ledger has no run of it at that time"
	case !due:
		return NotScheduled, "the job is not scheduled at that time: its schedule is " + j.Schedule + " (" + j.Timezone + ")"
	case j.Disabled:
		return DisabledJob, "the job is disabled in the registry"
	case at.After(s.now()):
		text := "the time has not come; the job is planned for it"
		if known && !st.PausedAt.IsZero() {
			text = "the time has not come; the job is paused by " + st.PausedBy + " (" + st.PausedWhy + "), and the run will be skipped unless it is resumed"
		}
		return Future, text
	case !known || st.Ended:
		return NotPlanned, "waiting because no living process serves the job: no process has planned it yet"
	case !at.After(st.Watermark):
		return BeforeJob, "the ledger first knew the job after that time, or another definition held then"
	}
	return NotPlanned, "waiting because the time is due and not planned yet: the job is planned up to " + scheduledTime(st.Watermark) + "; is a process serving?"
}

// status is what the ledger knows of one job.
func (s *Service) status(ctx context.Context, jobID string) (ledger.JobStatus, bool, error) {
	all, err := s.ledger.Jobs(ctx, jobID)
	for _, st := range all {
		if st.JobID == jobID {
			return st, true, err
		}
	}
	return ledger.JobStatus{}, false, err
}

// covering is the row that accounts for a job's scheduled time: its own, else the
// range row that it lies in.
func (s *Service) covering(ctx context.Context, jobID string, at time.Time) (ledger.Run, bool, error) {
	run, _, err := s.ledger.Get(ctx, jobs.RunID(jobID, at))
	if !errors.Is(err, ledger.ErrNotFound) {
		return run, err == nil, err
	}
	days, err := s.ledger.Days(ctx, jobID, at, at.Add(time.Second))
	if err != nil {
		return run, false, err
	}
	for _, r := range days.Ranges {
		if !at.Before(r.ScheduledAt) && !at.After(r.Until) && s.scheduledIn(jobID, at) {
			run, _, err := s.ledger.Get(ctx, r.RunID)
			return run, err == nil, err
		}
	}
	return run, false, nil
}

// scheduledIn reports whether a time within a range row is one of the job's, as
// far as the registry says.
func (s *Service) scheduledIn(jobID string, at time.Time) bool {
	reg, err := s.registry()
	if err != nil {
		return true
	}
	j, ok := reg.Job(jobID)
	return !ok || j.Parsed().Last(at).Equal(at)
}

var reasonTexts = map[ledger.Reason]string{
	ledger.Exhausted:          "every retry was used",
	ledger.Permanent:          "the target gave an answer that a retry cannot change",
	ledger.Unauthorized:       "the target refused a fresh token",
	ledger.NotCompleted:       "the target accepted the work, and did not complete it in time",
	ledger.PayloadMismatch:    "the target knows the key with another payload",
	ledger.KeyExpired:         "its send-before time passed, after which the target may have forgotten the key",
	ledger.Overlapped:         "an earlier run of the job was unfinished",
	ledger.WhilePaused:        "the job was paused",
	ledger.CatchUpNone:        "nothing planned it in time, and the job does not catch up",
	ledger.CatchUpWindow:      "nothing planned it in time, and it was older than the job's catch-up window",
	ledger.NewerRun:           "nothing planned it in time, and a newer scheduled time stands for it",
	ledger.CanceledByOperator: "an operator canceled it",
}

// Sentence says why the run is in its state.
func (r Run) Sentence() string {
	text := r.RunID + " is " + string(r.State)
	if r.Count > 1 {
		text = fmt.Sprintf("%s stands for %d scheduled times, which are %s", r.RunID, r.Count, r.State)
	}
	why := reasonTexts[r.Reason]
	switch {
	case why != "":
		text += ": " + why
	case r.State == ledger.Accepted:
		text += ": the target works on it"
	case r.State == ledger.Running:
		text += fmt.Sprintf(": attempt %d is under way", r.Attempts)
	case r.Waiting != nil:
		text += ", waiting because " + r.Waiting.reason()
	case r.Replayed:
		text += ": the target answered from its stored response"
	}
	if r.By != "" {
		text += fmt.Sprintf(" (last act by %s: %s)", r.By, r.Why)
	}
	return text
}

// reason is the wait code in words.
func (w *Waiting) reason() string {
	if w.Text != "" {
		return w.Text
	}
	if w.Code == ledger.NotDue {
		return "its time, or its retry's, has not come"
	}
	return string(w.Code)
}
