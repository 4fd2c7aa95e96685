package web

import (
	"context"
	"time"

	"github.com/cronce/cronce/internal/operations"
)

// whyAnswer says what became of a job at a time.
type whyAnswer struct {
	operations.Explanation
	Before, After neighbor
}

// neighbor is a scheduled time beside the one that is asked for.
type neighbor struct {
	At   string // as the API writes it; "" for none
	Run  string // the run that accounts for it; "" where the ledger has none
	Gone bool   // it has passed
}

// parseTime reads a time that a person wrote. Without an offset it is UTC; an age such as 24h is before now.
func parseTime(text string, now time.Time) (time.Time, error) {
	if t, ok := operations.ParseTime(text, now, time.UTC); ok {
		return t.UTC(), nil
	}
	return time.Time{}, invalid("\""+text+"\" is not a time.",
		"Write one as 2006-01-02T15:04:05Z, 2006-01-02 15:04, 15:04, or as an age: 24h, 7d.")
}

// why answers for any time: the row that accounts for it, or why there is none.
func (d *Dashboard) why(ctx context.Context, v jobView) (*whyAnswer, error) {
	explanation, err := d.Operations.Why(ctx, v.Row.ID, v.At, "")
	if refused, is := operationsError(err); is {
		return nil, invalid(sentenceOf(refused.Message), "Ask again with another time.")
	}
	if err != nil {
		return nil, err
	}
	a := &whyAnswer{Explanation: explanation}
	if a.Before, err = d.neighbor(ctx, v.Row.ID, a.Previous); err != nil {
		return nil, err
	}
	a.After, err = d.neighbor(ctx, v.Row.ID, a.Next)
	return a, err
}

// neighbor says what became of a scheduled time of the job: the run that accounts for it, and whether it has passed.
func (d *Dashboard) neighbor(ctx context.Context, jobID, scheduledTime string) (neighbor, error) {
	n := neighbor{At: scheduledTime}
	if n.At == "" {
		return n, nil
	}
	e, err := d.Operations.Why(ctx, jobID, n.At, "")
	if e.Run != nil {
		n.Run = e.Run.RunID
	}
	n.Gone = e.Verdict != operations.Future
	return n, err
}
