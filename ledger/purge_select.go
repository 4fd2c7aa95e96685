package ledger

import (
	"slices"
	"time"
)

// TemplateRetention has the retention of a template's schedules and of their runs, counted from
// their end.
type TemplateRetention struct {
	Template  string
	Retention time.Duration
}

// OfTemplates selects by the template of a schedule; the zero OfTemplates selects all.
type OfTemplates struct {
	Templates []string
	Except    bool // what is of none of them
}

// Has reports whether it selects a job ID.
func (o OfTemplates) Has(jobID string) bool {
	return len(o.Templates) == 0 || slices.Contains(o.Templates, TemplateOf(jobID)) != o.Except
}

// otherTemplates selects what has no retention of its own.
func otherTemplates(list []TemplateRetention) OfTemplates {
	others := OfTemplates{Except: true}
	for _, t := range list {
		others.Templates = append(others.Templates, t.Template)
	}
	return others
}

// OldRuns selects runs that were scheduled and have finished long ago: those scheduled up
// to Scheduled that finished up to Finished. For unacknowledged runs in UnacknowledgedState,
// UnacknowledgedFinished counts instead of Finished.
type OldRuns struct {
	Of                     OfTemplates
	Scheduled              time.Time
	Finished               time.Time
	UnacknowledgedState    State
	UnacknowledgedFinished time.Time
}

// Has reports whether it selects a row.
func (q OldRuns) Has(r *Row) bool {
	if !q.Of.Has(JobOf(r.ID)) {
		return false
	}
	finished := q.Finished
	if r.State == q.UnacknowledgedState && r.AckedAt.IsZero() {
		finished = q.UnacknowledgedFinished
	}
	return !r.FinishedAt.IsZero() && !r.ScheduledAt.After(q.Scheduled) && !r.FinishedAt.After(finished)
}
