package web

import (
	"context"
	"fmt"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// jobRow is a job in a list, with its last runs.
type jobRow struct {
	brief
	Status ledger.JobStatus // zero: the ledger has no row of it
	Words  string           // the schedule
	Expr   string
	Strip  strip
	P95    time.Duration
	HasP95 bool
	Slower string // the p95 of the last week by that of four weeks before; "": not asked for, or too few runs
}

// readRows reads jobs in full and returns them in the order of ids. It makes the same number of queries for any number
// of jobs. A job that was purged since the list was made is left out.
func (d *Dashboard) readRows(ctx context.Context, ids []string) ([]jobRow, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	statuses, err := d.Ledger.Jobs(ctx, ids...)
	if err != nil {
		return nil, err
	}
	byID, others := map[string]ledger.JobStatus{}, []string(nil)
	for _, status := range statuses {
		byID[status.JobID] = status
		if d.definitionOf(status.JobID) == nil {
			others = append(others, status.JobID)
		}
	}
	bodies, err := d.Ledger.JobBodies(ctx, others...)
	if err != nil {
		return nil, err
	}
	cells, err := d.Ledger.Recent(ctx, ids, stripCells)
	if err != nil {
		return nil, err
	}
	pauses, err := d.Ledger.Pauses(ctx, false)
	if err != nil {
		return nil, err
	}
	now := d.now()
	var rows []jobRow
	for _, id := range ids {
		status, known := byID[id]
		j := d.definitionOf(id)
		if j == nil && !known {
			continue // purged since the list was made
		}
		row := d.newJobRow(j, status, pauses, bodies[id], now)
		row.Strip = newStrip(cells[id], stripCells)
		row.P95, row.HasP95 = p95(cells[id])
		rows = append(rows, row)
	}
	return rows, nil
}

// definitionOf returns a job or a template of the registry, nil if it has neither.
func (d *Dashboard) definitionOf(id string) *jobs.Job {
	if j, registered := d.registry().Job(id); registered {
		return &j
	}
	if t, isTemplate := d.registry().Template(id); isTemplate {
		return &t.Job
	}
	return nil
}

// newJobRow returns a job without its runs. body is its definition in the ledger, which the row
// shows if the registry lacks the job.
func (d *Dashboard) newJobRow(j *jobs.Job, s ledger.JobStatus, pauses []ledger.Pause, body []byte, now time.Time) jobRow {
	row := jobRow{brief: brief{JobDescription: operations.DescribeJob(j, s, pauses, now)}, Status: s}
	if j == nil {
		row.Words = "not in this process's registry"
		if ended, err := jobs.ParseDefinition(body); err == nil && len(body) > 0 {
			j = &ended
		}
	}
	if t, isTemplate := d.registry().Template(row.ID); isTemplate {
		row.Words = fmt.Sprintf("made at run time, up to %d", t.Max)
	} else if j != nil {
		row.Words, row.Expr = j.ParsedSchedule().Describe(), j.Schedule
	}
	return row
}
