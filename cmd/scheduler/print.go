package main

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/cronce/cronce/internal/terminal"
	"github.com/cronce/cronce/ledger"
)

// printJSON prints one JSON value, indented, with a final newline.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// table returns a table for standard output, as wide as the terminal.
func (a *app) table(columns ...string) *terminal.Table {
	width := 0
	if !a.wide {
		width = terminal.Width(a.out)
	}
	return terminal.NewTable(a.out, width, columns...)
}

// instant prints a time as the ledger means it: UTC, RFC 3339; "" for none.
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// runJSON is a run in --json.
type runJSON struct {
	RunID       string         `json:"runId"`
	JobID       string         `json:"jobId"`
	ScheduledAt string         `json:"scheduledAt"`
	Until       string         `json:"until,omitempty"`
	Count       int            `json:"count"`
	Trigger     ledger.Trigger `json:"trigger"`
	State       ledger.State   `json:"state"`
	Reason      ledger.Reason  `json:"reason"`
	Attempts    int            `json:"attempts"`
	AcceptedAt  string         `json:"acceptedAt,omitempty"`
	Progress    string         `json:"progress,omitempty"`
	Replayed    bool           `json:"replayed"`
	Status      int            `json:"status,omitempty"`
	NextAt      string         `json:"nextAt,omitempty"`
	Waiting     *waitingJSON   `json:"waiting,omitempty"`
	SendBefore  string         `json:"sendBefore,omitempty"`
	PlannedAt   string         `json:"plannedAt,omitempty"`
	StartedAt   string         `json:"startedAt,omitempty"`
	FinishedAt  string         `json:"finishedAt,omitempty"`
	AckedAt     string         `json:"ackedAt,omitempty"`
	RerunID     string         `json:"rerunId,omitempty"`
	By          string         `json:"by,omitempty"`
	Why         string         `json:"why,omitempty"`
}

// waitingJSON is why a planned or retrying run is not being sent.
type waitingJSON struct {
	Code ledger.WaitCode `json:"code"`
	Text string          `json:"text,omitempty"`
}

// waiting is nil for a run that waits for nothing.
func waiting(why ledger.WaitReason) *waitingJSON {
	if why.Code == "" {
		return nil
	}
	return &waitingJSON{why.Code, why.Text}
}

// addWaiting sets why those of the runs that are not being sent wait.
func addWaiting(ctx context.Context, l ledger.Store, runs ...*ledger.Run) error {
	var ids []string
	for _, r := range runs {
		if r.State == ledger.Planned || r.State == ledger.Retrying {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	why, err := l.Waiting(ctx, ids)
	for _, r := range runs {
		r.WaitsFor = why[r.ID]
	}
	return err
}

func toJSON(r ledger.Run) runJSON {
	j := runJSON{
		RunID: r.ID, JobID: r.JobID, ScheduledAt: instant(r.ScheduledAt), Until: instant(r.Until),
		Count: r.Count, Trigger: r.Trigger, State: r.State, Reason: r.Reason, Attempts: r.Attempt,
		Replayed: r.Replayed, Status: r.Status, SendBefore: instant(r.SendBefore),
		PlannedAt: moment(r.PlannedAt), StartedAt: moment(r.StartedAt), FinishedAt: moment(r.FinishedAt),
		AcceptedAt: moment(r.AcceptedAt), Progress: r.Progress,
		AckedAt: moment(r.AckedAt), RerunID: r.RerunID, By: r.By, Why: r.Why,
	}
	if !r.State.Finished() {
		j.NextAt, j.Waiting = moment(r.NextAt), waiting(r.WaitsFor)
	}
	return j
}

// moment prints an actual time, to the millisecond.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

func runsJSON(runs []ledger.Run) []runJSON {
	out := make([]runJSON, len(runs))
	for i, r := range runs {
		out[i] = toJSON(r)
	}
	return out
}
