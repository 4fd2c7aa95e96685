package web

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/schedule"
)

// whyAnswer says what became of a job at a time.
type whyAnswer struct {
	Text     string
	Run      *ledger.Run
	Kind     kind
	Before   time.Time // the scheduled times beside one that is none
	After    time.Time
	AfterID  string
	BeforeID string
}

// timeLayouts are how a person may write a time, UTC.
var timeLayouts = []string{
	time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly,
}

func parseTime(text string) (time.Time, error) {
	for _, layout := range timeLayouts {
		if t, err := time.ParseInLocation(layout, text, time.UTC); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, invalid("\""+text+"\" is not a time.", "Write one as 2006-01-02T15:04:05Z, or 2006-01-02 15:04 for UTC.")
}

func (d *Dashboard) scheduleOf(v jobView) *schedule.Schedule {
	if v.Job == nil {
		return nil
	}
	return v.Job.Parsed()
}

// why answers for any time: the row that accounts for it, or why there is none.
func (d *Dashboard) why(ctx context.Context, v jobView) (*whyAnswer, error) {
	at, err := parseTime(v.At)
	if err != nil {
		return nil, err
	}
	at = at.Truncate(time.Second)
	id := v.Row.ID
	run, _, err := d.Ledger.Get(ctx, ledgerRunID(id, at))
	switch {
	case err == nil:
		return d.answerOf(ctx, run)
	case !errors.Is(err, ledger.ErrNotFound):
		return nil, err
	}
	days, err := d.Ledger.Days(ctx, id, at, at.Add(time.Second))
	if err != nil {
		return nil, err
	}
	s := d.scheduleOf(v)
	scheduled := s == nil || s.Last(at).Equal(at)
	for _, r := range days.Ranges {
		if scheduled && !r.ScheduledAt.After(at) && !r.Until.Before(at) {
			run, _, err := d.Ledger.Get(ctx, r.RunID)
			if err != nil {
				return nil, err
			}
			return d.answerOf(ctx, run)
		}
	}
	a := &whyAnswer{Kind: none}
	if s != nil {
		a.Before, a.After = s.Last(at.Add(-time.Second)), s.Next(at)
		a.BeforeID, a.AfterID = ledgerRunID(id, a.Before), ledgerRunID(id, a.After)
	}
	when := at.Format("2006-01-02 15:04:05") + " UTC"
	switch {
	case !scheduled:
		a.Text = fmt.Sprintf("%s is not a scheduled time of this job.", when)
	case at.After(v.Now):
		a.Kind, a.Text = kind(ledger.Planned), fmt.Sprintf("%s is a scheduled time to come.", when)
	case v.Status == nil || v.Status.Watermark.IsZero():
		a.Text = "The ledger does not know this job yet: no process has planned it."
	case !v.Status.PurgedBefore.IsZero() && !at.After(v.Status.PurgedBefore):
		a.Text = fmt.Sprintf("The run of %s was purged: its retention has passed.", when)
	case at.After(v.Status.Watermark):
		a.Text = fmt.Sprintf("%s is not planned yet: no process has planned this job since %s UTC.", when, v.Status.Watermark.Format("2006-01-02 15:04:05"))
	default:
		a.Text = fmt.Sprintf("There is no run for %s: the job did not exist then, or had another schedule.", when)
	}
	return a, nil
}

func (d *Dashboard) answerOf(ctx context.Context, run ledger.Run) (*whyAnswer, error) {
	_, attempts, err := d.Ledger.Get(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	waits, err := d.Ledger.Waiting(ctx, []string{run.ID})
	if err != nil {
		return nil, err
	}
	return &whyAnswer{Text: sentence(run, waits[run.ID], lastOf(attempts)), Run: &run, Kind: kindOf(run.State, run.Replayed)}, nil
}

func lastOf(attempts []ledger.Attempt) *ledger.Attempt {
	if len(attempts) == 0 {
		return nil
	}
	return &attempts[len(attempts)-1]
}
