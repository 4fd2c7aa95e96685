package web

import (
	"context"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/schedule"
)

// whyAnswer says what became of a job at a time.
type whyAnswer struct {
	operations.Explanation
	Before, After time.Time // the scheduled times around it; zero for none
	BeforeID      string
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
	a := &whyAnswer{}
	if a.Explanation, err = d.Operations.Why(ctx, v.Row.ID, at); err != nil {
		return nil, err
	}
	if s := d.scheduleOf(v); s != nil {
		a.Before, a.After = s.Last(at.Add(-time.Second)), s.Next(at)
		a.BeforeID = jobs.RunID(v.Row.ID, a.Before)
	}
	return a, nil
}
