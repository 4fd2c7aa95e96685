package web

import (
	"cmp"
	"context"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// jobRow is a job in a list.
type jobRow struct {
	ID     string
	Words  string // the schedule
	Expr   string
	Owner  string
	Target string    // "" for a built-in job, and for one that is not in the registry
	Next   time.Time // the scheduled time of its next run
	Start  time.Time // of that run
	State  operations.JobState
	Since  time.Time
	// Earlier says that it has failed since Since or an earlier time.
	Earlier bool
	By      string // who paused it
	Why     string
	Until   time.Time // the end of the pause; zero: none is set
	Held    time.Time // the end of the hold of its target
	Dead    int
	Strip   strip
	P95     time.Duration
	HasP95  bool
	Slower  string // the p95 of the last week by that of four weeks before; "": not asked for, or too few runs
}

// readRows reads jobs in full, in the order of their IDs.
func (d *Dashboard) readRows(ctx context.Context, ids []string) ([]jobRow, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	statuses, err := d.Ledger.Jobs(ctx, ids...)
	if err != nil {
		return nil, err
	}
	byID, others := map[string]*ledger.JobStatus{}, []string(nil)
	for i := range statuses {
		id := statuses[i].JobID
		byID[id] = &statuses[i]
		if _, registered := d.registry().Job(id); !registered {
			others = append(others, id)
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
		var row jobRow
		j, registered := d.registry().Job(id)
		t, isTemplate := d.registry().Template(id)
		switch s := byID[id]; {
		case registered:
			row = newJobRow(j, s, pauses, now)
		case isTemplate:
			row = templateRow(t, s)
		case s != nil:
			row = endedRow(s, bodies[id])
		default:
			continue // it is gone meanwhile
		}
		row.Strip = newStrip(cells[id], stripCells)
		row.P95, row.HasP95 = p95(cells[id])
		rows = append(rows, row)
	}
	return rows, nil
}

func newJobRow(j jobs.Job, s *ledger.JobStatus, pauses []ledger.Pause, now time.Time) jobRow {
	row := jobRow{ID: j.ID, Words: j.ParsedSchedule().Describe(), Expr: j.Schedule, Owner: j.Owner, Target: targetOf(j)}
	pause, hold := operations.Paused(pauses, j, now)
	if s != nil && s.Watermark.After(now) { // the clock was set back: what is planned does not run again
		now = s.Watermark
	}
	row.know(&j, s, pause)
	if hold != nil {
		row.Held = hold.Until
	}
	if !j.Disabled && (row.State != operations.JobPaused || !row.Until.IsZero()) {
		if row.Next = operations.NextRun(pauses, j, now); !row.Next.IsZero() {
			row.Start = j.DueAt(row.Next)
		}
	}
	return row
}

// know adds what the ledger knows of the job, and the pause of many that it is in.
func (row *jobRow) know(j *jobs.Job, s *ledger.JobStatus, pause *ledger.Pause) {
	s = cmp.Or(s, &ledger.JobStatus{})
	row.Dead = s.DeadUnacknowledged
	switch row.State = operations.StateOf(j, s.State(), pause); {
	case row.State == operations.JobPaused && !s.PausedAt.IsZero(): // without an end
		row.Since, row.By, row.Why = s.PausedAt, s.PausedBy, s.PausedWhy
	case row.State == operations.JobPaused:
		row.Since, row.By, row.Until, row.Why = pause.From, pause.By, pause.Until, pause.Why
	case row.State == operations.JobFailing:
		row.Since, row.Earlier = s.FailingSince, s.FailingEarlier
	}
}

// endedRow is a job that the ledger knows and the registry does not have.
func endedRow(s *ledger.JobStatus, body []byte) jobRow {
	row := jobRow{ID: s.JobID, Words: "not in this process's registry"}
	if j, err := jobs.ParseDefinition(body); err == nil && len(body) > 0 {
		row.Words, row.Expr = j.ParsedSchedule().Describe(), j.Schedule
	}
	row.know(nil, s, nil)
	return row
}
