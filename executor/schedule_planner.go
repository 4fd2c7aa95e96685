package executor

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/ledger"
)

const (
	// schedulePoll bounds the time until the first check of a schedule that another process has
	// made.
	schedulePoll = 250 * time.Millisecond
	// behindPause is when to check whether the recorder is still behind.
	behindPause = 10 * time.Millisecond
)

// schedulePlanner plans the schedules of the templates whose current definition this
// process has. It knows no schedule: the ledger says which are due. It plans in a goroutine of
// its own, so that no job of the registry waits for a batch.
type schedulePlanner struct {
	ledger *ledgerClient
	rules  ledger.ScheduleRules
	work   *workset
	claims *claimTimer
	// reassign is called where another process switched a template's definition.
	reassign func()
	// planned is called after each batch.
	planned  func()
	changed  signal // sent when there are other templates
	observer Observer
	logger   *slog.Logger

	last     string                    // the template that was planned last
	page     ledger.ScheduleSweep      // the next page of the sweep in progress
	lastPass atomic.Pointer[time.Time] // when run last came round

	mu        sync.Mutex
	templates []ledger.TemplateRevision
	next      time.Time // when to plan, on this machine's clock
	planning  bool
}

// applyTemplate begins to plan the schedules of a template, if its current definition is that of
// this process, and stops otherwise.
func (p *schedulePlanner) applyTemplate(template string, revision int64, hash string, current bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	same := ledger.TemplateRevision{Template: template, Revision: revision, Hash: hash}
	if current && slices.Contains(p.templates, same) {
		return
	}
	p.dropTemplates(template)
	if current {
		p.templates = append(p.templates, same)
		p.next = time.Time{}
		p.changed.send()
	}
}

// dropTemplates stops planning templates, in a slice of its own: a batch may be under way. The
// caller holds mu.
func (p *schedulePlanner) dropTemplates(templates ...string) {
	var rest []ledger.TemplateRevision
	for _, t := range p.templates {
		if !slices.Contains(templates, t.Template) {
			rest = append(rest, t)
		}
	}
	p.templates = rest
}

// run plans what is due until ctx ends. It comes round when a schedule is due, and after each poll,
// since other processes make schedules.
func (p *schedulePlanner) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		p.lastPass.Store(new(time.Now()))
		p.planDue(ctx)
		timer.Reset(max(p.wait(), p.ledger.backoff.remaining()))
		select {
		case <-ctx.Done():
		case <-p.changed:
		case <-timer.C:
		}
	}
}

// wait returns the time until there is something to plan. It is 0 while a batch is being planned.
func (p *schedulePlanner) wait() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.planning:
		return 0
	case len(p.templates) == 0:
		return planEvery
	}
	return max(0, time.Until(p.next))
}

// begin returns the templates to plan now, if any. It returns none while the ledger fails or the
// recorder is behind.
func (p *schedulePlanner) begin() []ledger.TemplateRevision {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if len(p.templates) == 0 || now.Before(p.next) || p.ledger.backoff.remaining() > 0 {
		return nil
	}
	if p.work.behind() {
		p.next = now.Add(behindPause)
		return nil
	}
	p.next, p.planning = now.Add(time.Hour), true // end brings it forward
	return p.templates
}

// end sets when to plan next, unless the batch has set an earlier time, and wakes the loop, which
// starts what was leased.
func (p *schedulePlanner) end() {
	p.advanceTo(time.Now().Add(schedulePoll))
	p.mu.Lock()
	p.planning = false
	p.mu.Unlock()
	p.planned()
}

// planDue plans a batch of what is due, queues what was leased with it, and sweeps a page if the
// ledger asks for that.
func (p *schedulePlanner) planDue(ctx context.Context) {
	templates := p.begin()
	if len(templates) == 0 {
		return
	}
	defer p.end()
	got, until, ok := p.ledger.planSchedules(ctx, ledger.SchedulePlanning{Templates: templates, After: p.last, Rules: p.rules,
		Mark: p.work.leaseMarker()})
	if !ok {
		p.advanceTo(time.Now()) // after the back-off: a tick waits for it
		return
	}
	p.last = got.Template
	p.work.add(got.Leased, until)
	if startable(got.Plans) > len(got.Leased) {
		p.claims.advanceTo(time.Now())
	}
	if !got.NextAt.IsZero() {
		p.advanceTo(time.Now().Add(got.NextAt.Sub(got.Now)))
	}
	p.report(got)
	p.sweep(ctx, got.Sweep)
}

// advanceTo brings the next batch forward to at.
func (p *schedulePlanner) advanceTo(at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at.Before(p.next) {
		p.next = at
	}
}

// sweep checks a page of schedules after an edit of their template, or a change of a pause.
func (p *schedulePlanner) sweep(ctx context.Context, todo ledger.ScheduleSweep) {
	if todo.Template == "" {
		return
	}
	if p.page.TemplateRevision != todo.TemplateRevision || p.page.Swept != todo.Swept {
		p.page = todo
		p.page.Rules = p.rules
	}
	next, ok := p.ledger.sweepSchedules(ctx, p.page)
	if !ok {
		return
	}
	p.page.After = next
	if next != 0 {
		p.advanceTo(time.Now())
	}
}

// report tells the log and the metrics what was planned. Metrics know templates: there may
// be very many schedules.
func (p *schedulePlanner) report(got ledger.PlannedSchedules) {
	for _, plan := range got.Plans {
		for _, in := range plan.Runs {
			p.observer.Admitted(ledger.RegistryJobID(plan.JobID), in.State, in.Count)
			if in.State != ledger.Planned {
				p.logger.Warn("scheduled times not run", "job", plan.JobID, "run", in.RunID, "count", in.Count, "state", in.State, "reason", in.Reason)
			}
		}
		warnOfGaps(p.logger, plan)
	}
	for _, f := range got.Failed {
		p.logger.Error("schedule cannot be planned; it is tried again in 15 minutes, or after an edit of its template", "job", f.JobID, "error",
			f.Err)
	}
	if len(got.Moved) > 0 {
		p.mu.Lock()
		p.dropTemplates(got.Moved...)
		p.mu.Unlock()
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
