package proof

import (
	"context"
	"math"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/schedule"
)

// ChangeSchedules notes from when to when each content of a schedule held: it is a revision
// of a job of its own.
func (w *Witness) ChangeSchedules(ctx context.Context, c ledger.ChangeSchedulesRequest) ([]ledger.ScheduleResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	marks, live := map[string]ledger.Schedule{}, map[string]ledger.Schedule{}
	for _, in := range c.Items {
		list, err := w.Store.Jobs(context.WithoutCancel(ctx), in.JobID)
		if err == nil && len(list) == 1 {
			marks[in.JobID] = ledger.Schedule{Watermark: list[0].Watermark, Revision: list[0].Revision}
		}
		if s, err := w.Store.Schedule(context.WithoutCancel(ctx), in.JobID); err == nil && s.InQuota() {
			live[in.JobID] = s
		}
	}
	results, err := w.Store.ChangeSchedules(ctx, c)
	for _, got := range results {
		if s := got.Schedule; got.Err == nil && got.Effect != ledger.ScheduleUnchanged {
			w.said(s, marks[s.JobID])
			if was, ok := live[s.JobID]; ok {
				w.ceased(context.WithoutCancel(ctx), c.Rules, was, s)
			}
		}
	}
	return results, err
}

// ceased checks what is missed of a content that a change has just ended: nothing that could be
// called. Of a schedule that was deleted, no incident tells it.
func (w *Witness) ceased(ctx context.Context, rules ledger.ScheduleRules, was, is ledger.Schedule) {
	_, unfit := rules.Next(&was)
	plan, _, _ := rules.Plan(&was, is.ChangedAt, true) // the job, and what pauses select it by
	missed, _ := w.Store.List(ctx, ledger.Filter{JobID: is.JobID, States: []ledger.State{ledger.Missed}, Limit: math.MaxInt})
	for _, r := range missed {
		if !r.PlannedAt.Equal(is.ChangedAt) {
			continue
		}
		if (r.Reason == ledger.ReasonNotPlannable) != (unfit != nil) {
			w.saw(CatchUp, r.ID, "%s %s, by rules that say %v", r.State, r.Reason, unfit)
		}
		if is.DeletedAt.IsZero() {
			w.missed(plan, r)
		}
	}
}

// said begins the revision of a content, and ends the one before.
func (w *Witness) said(s, was ledger.Schedule) {
	if s.Revision != was.Revision+1 {
		w.saw(Lost, s.JobID, "revision %d follows %d", s.Revision, was.Revision)
	}
	from := s.ChangedAt
	if was.Watermark.After(from) {
		from = was.Watermark
	}
	if list := w.revisions[s.JobID]; len(list) > 0 && list[len(list)-1].Open { // else it was deleted
		w.end(s.JobID, from)
	}
	if !s.DeletedAt.IsZero() {
		return
	}
	times, err := schedule.Parse(s.Expr, s.Timezone, schedule.DST(s.DST))
	if err != nil {
		w.saw(Stray, s.JobID, "%v", err)
		return
	}
	if !s.Until.IsZero() {
		times = times.EndingAt(s.Until)
	}
	w.revisions[s.JobID] = append(w.revisions[s.JobID], revision{
		Revision{JobID: s.JobID, Schedule: times, From: s.Watermark, Open: true}, s.Revision, jobs.Job{},
	})
}

// PlanSchedules notes the runs and the leases.
func (w *Witness) PlanSchedules(ctx context.Context, p ledger.SchedulePlanning) (ledger.PlannedSchedules, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	got, err := w.Store.PlanSchedules(ctx, p)
	ctx = context.WithoutCancel(ctx) // the look-ups are evidence
	for _, plan := range got.Plans {
		for _, in := range plan.Runs {
			w.planned(in)
			if r, written := w.kept(ctx, in, got.Now); written {
				w.missed(plan, r)
			}
		}
	}
	for _, f := range got.Failed {
		if s, err := w.Store.Schedule(ctx, f.JobID); err == nil {
			if _, unfit := p.Rules.Next(&s); unfit != nil {
				continue // until it is changed, or its template
			}
		}
		w.saw(Lost, f.JobID, "%v", f.Err)
	}
	w.leased(got.Now, got.Leased...)
	return got, err
}
