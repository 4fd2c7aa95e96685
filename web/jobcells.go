package web

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/cronce/cronce/ledger"
)

const (
	// recentCells is the number of a job's last rows that its page links one by one.
	recentCells = 90
	// durationRuns is the number of a job's last rows whose durations are shown.
	durationRuns = 100
)

// jobCell is one row of the ledger as a link.
type jobCell struct {
	Kind  kind
	Link  string
	Title string
}

// addCells adds the job's last rows: as links, as the strip of its row, and as bars of their durations.
func (d *Dashboard) addCells(r *http.Request, id string, v *jobView) error {
	cells, err := d.Ledger.Recent(r.Context(), []string{id}, durationRuns)
	if err != nil {
		return err
	}
	rows := cells[id]
	if v.Sends { // Recent lists scheduled times, and these runs are for none
		if rows, err = d.newest(r.Context(), id); err != nil {
			return err
		}
	}
	v.Durations = newDurationBars(rows, v.Now)
	v.Row.Strip = newStrip(rows, stripCells)
	for _, c := range slices.Backward(rows[:min(len(rows), recentCells)]) {
		v.Cells = append(v.Cells, newJobCell(c, v.Now))
	}
	return nil
}

// newest returns a job's newest runs of any kind as cells.
func (d *Dashboard) newest(ctx context.Context, jobID string) (list []ledger.RunSummary, err error) {
	runs, err := d.Ledger.List(ctx, ledger.Filter{JobID: jobID, Limit: durationRuns})
	for _, r := range runs {
		list = append(list, ledger.RunSummary{
			RunID: r.ID, ScheduledAt: r.ScheduledAt, Count: r.Count, State: r.State, Reason: r.Reason, Replayed: r.Replayed, StartedAt: r.StartedAt,
			FinishedAt: r.FinishedAt,
		})
	}
	return list, err
}

// newJobCell returns the link to a row, whose title has the time or the range, the state and the reason.
func newJobCell(c ledger.RunSummary, now clock) jobCell {
	k := kindOf(c.State, c.Replayed)
	title := now.exact(c.ScheduledAt) + ": " + string(k)
	if c.Count > 1 {
		title = now.exact(c.ScheduledAt) + " to " + now.exact(c.Until) + ": " + counted(c.Count, "scheduled time") + " " + string(k)
	}
	if c.Reason != "" {
		title += " (" + strings.ReplaceAll(string(c.Reason), "_", " ") + ")"
	}
	return jobCell{k, runPath(c.RunID), title}
}
