package executor

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

// schedulePoll is how long a schedule that another process has made may wait for its first
// look, at most.
const schedulePoll = 250 * time.Millisecond

// schedulePlanner plans the schedules of the templates whose current definition this
// process has. It knows no schedule: the ledger says which are due. It belongs to the
// loop's goroutine.
type schedulePlanner struct {
	ledger    *ledgerClient
	rules     ledger.ScheduleRules
	work      *workset
	claims    *claimTimer
	templates []ledger.TemplateRevision
	last      string // the template that was planned last
	sweeps    []ledger.ScheduleSweep
	next      time.Time // when to look, on this machine's clock
	// reassign is called where another process switched a template's definition.
	reassign func()
	observer Observer
	logger   *slog.Logger
}

// take begins to plan the schedules of a template, if its current definition is that of this
// process, and stops otherwise.
func (p *schedulePlanner) take(template string, revision int64, hash string, current bool) {
	same := ledger.TemplateRevision{Template: template, Revision: revision}
	if current && slices.Contains(p.templates, same) {
		return
	}
	p.templates = slices.DeleteFunc(p.templates, func(t ledger.TemplateRevision) bool { return t.Template == template })
	p.sweeps = slices.DeleteFunc(p.sweeps, func(s ledger.ScheduleSweep) bool { return s.Template == template })
	if current {
		p.templates = append(p.templates, same)
		p.sweeps = append(p.sweeps, ledger.ScheduleSweep{Template: template, Revision: revision, Hash: hash, Rules: p.rules})
		p.next = time.Time{}
	}
}

// wait is how long nothing is to be planned.
func (p *schedulePlanner) wait() time.Duration {
	if len(p.templates) == 0 {
		return beatEvery
	}
	return time.Until(p.next)
}

// planDue plans a batch of what is due, and sweeps a page. The loop comes back at once for
// more.
func (p *schedulePlanner) planDue(ctx context.Context) {
	if ctx.Err() != nil || p.wait() > 0 || p.ledger.backoff.left() > 0 {
		return
	}
	p.next = time.Now().Add(schedulePoll)
	got, until, ok := p.ledger.planSchedules(ctx, ledger.SchedulePlanning{Templates: p.templates, After: p.last, Rules: p.rules,
		Mark: p.work.marker()})
	if !ok {
		return
	}
	p.last = got.Template
	p.work.add(got.Leased, until)
	if startable(got.Plans) > len(got.Leased) {
		p.claims.want(time.Now())
	}
	if !got.NextAt.IsZero() {
		p.want(time.Now().Add(got.NextAt.Sub(got.Now)))
	}
	p.report(got)
	p.sweep(ctx)
}

// want brings the next look forward to at.
func (p *schedulePlanner) want(at time.Time) {
	if at.Before(p.next) {
		p.next = at
	}
}

// sweep looks at a page of schedules after an edit of their template.
func (p *schedulePlanner) sweep(ctx context.Context) {
	if len(p.sweeps) == 0 {
		return
	}
	next, ok := p.ledger.sweepSchedules(ctx, p.sweeps[0])
	switch {
	case !ok:
		return
	case next == 0:
		p.sweeps = p.sweeps[1:]
	default:
		p.sweeps[0].After = next
	}
	p.want(time.Now())
}

// report tells the log and the metrics what was planned. Metrics know templates: there may
// be very many schedules.
func (p *schedulePlanner) report(got ledger.PlannedSchedules) {
	for _, plan := range got.Plans {
		for _, in := range plan.Runs {
			p.observer.Admitted(ledger.OwnerOf(plan.JobID), in.State, in.Count)
			if in.State != ledger.Planned {
				p.logger.Warn("scheduled times not run", "job", plan.JobID, "run", in.RunID, "count", in.Count, "state", in.State, "reason", in.Reason)
			}
		}
	}
	for _, f := range got.Failed {
		p.logger.Error("schedule cannot be planned; it is tried again in 15 minutes, or after an edit of its template", "job", f.JobID, "error",
			f.Err)
	}
	if len(got.Moved) > 0 {
		p.templates = slices.DeleteFunc(p.templates, func(t ledger.TemplateRevision) bool { return slices.Contains(got.Moved, t.Template) })
		p.reassign()
	}
}

// startable counts the runs of plans that are to run.
func startable(plans []ledger.Plan) (n int) {
	for _, p := range plans {
		for _, in := range p.Runs {
			if in.State == ledger.Planned {
				n++
			}
		}
	}
	return n
}
