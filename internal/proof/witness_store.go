package proof

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Declare notes the definitions.
func (w *Witness) Declare(ctx context.Context, d ledger.Declaration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for def := range d.Definitions {
		w.holds[d.Process+" "+def.JobID] = true
		key := def.JobID + " " + def.Hash
		if _, ok := w.known[key]; ok {
			continue
		}
		if _, err := jobs.ParseTemplate(def.Body); err == nil {
			continue // it has no scheduled times
		}
		j, err := jobs.ParseDefinition(def.Body)
		if err != nil {
			return err
		}
		w.known[key] = j
	}
	return errors.Join(w.Store.Declare(ctx, d), w.followClock(ctx))
}

// Assignments notes the revisions that it begins.
func (w *Witness) Assignments(ctx context.Context, version, after string) ([]ledger.JobAssignment, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list, err := w.Store.Assignments(ctx, version, after)
	for _, s := range list {
		w.begin(s.Position, s.Hash)
	}
	return list, err
}

// Admit notes switches of definitions, the runs that wait for slots, and leases.
func (w *Witness) Admit(ctx context.Context, a ledger.Admission) (ledger.Admitted, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	got, err := w.Store.Admit(ctx, a)
	ctx = context.WithoutCancel(ctx) // the look-ups are evidence
	if err != nil {
		return got, err
	}
	stale := map[string]bool{}
	for _, s := range got.Stale {
		stale[s.JobID] = true
	}
	for _, p := range a.Plans {
		if !stale[p.JobID] {
			w.checkPlan(ctx, p, got.Now)
			w.admitted(p, a.Process)
			for _, in := range p.Runs {
				if r, written := w.kept(ctx, in, got.Now); written {
					w.missed(p, r)
				}
			}
		}
	}
	w.leased(got.Now, got.Leased...)
	return got, nil
}

func (w *Witness) admitted(p ledger.Plan, owner string) {
	for _, in := range p.Runs {
		w.planned(in)
	}
	if p.Next == nil {
		return
	}
	if p.Next.Hash == "" && w.holds[owner+" "+p.JobID] {
		w.saw(Dropped, p.JobID, "at %s", stamp(p.Through))
	}
	w.end(p.JobID, p.Through)
	w.begin(ledger.Position{JobID: p.JobID, Revision: p.Revision + 1, Watermark: p.Through}, p.Next.Hash)
}

// planned notes whether a new run takes the slot; one that is there stands.
func (w *Witness) planned(in ledger.RunSpec) {
	if _, there := w.runs[in.RunID]; !there && in.State == ledger.Planned {
		w.run(in.RunID).slotted = in.Overlap != ledger.OverlapAllow
	}
}

// Enter notes the run and its lease.
func (w *Witness) Enter(ctx context.Context, e ledger.Entry) (ledger.Entered, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	got, err := w.Store.Enter(ctx, e)
	if err != nil {
		return got, err
	}
	if got.Inserted {
		w.planned(e.RunSpec)
		if !ledger.IsAdHoc(e.RunID) {
			v := writtenRow{Run: got.Run, taken: len(w.open[e.JobID]) > 0}
			v.paused, v.held = w.pausedAt(e.JobID, e.Traits, e.ScheduledAt)
			w.checkRow(v)
		}
		w.opened(e.Overlap, got.Run)
	}
	if got.Work != nil {
		w.leased(got.Now, *got.Work)
	}
	return got, nil
}

// Claim notes leases, and runs that expired.
func (w *Witness) Claim(ctx context.Context, c ledger.ClaimRequest) (ledger.Claimed, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	got, err := w.Store.Claim(ctx, c)
	ctx = context.WithoutCancel(ctx) // the look-ups are evidence
	for _, r := range got.PastSendBefore {
		w.ended(r.ID, r.JobID)
		if r.Parent == "" {
			w.problems[Problems{r.JobID, ledger.IncidentDead}] += r.Count
		}
	}
	w.leased(got.Now, got.Work...)
	w.claimed(c, got.Work)
	if err == nil && len(c.Only) == 0 && len(got.Work) < c.Limit {
		err = w.left(ctx, c, got.Now)
	}
	return got, err
}

// Record notes what was recorded, and by whom.
func (w *Witness) Record(ctx context.Context, outcomes []ledger.Outcome) ([]ledger.RecordResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	// The clock may jump while the store records: the earlier reading is no
	// later than a retry's time was counted from.
	before := w.now()
	results, err := w.Store.Record(ctx, outcomes)
	ctx = context.WithoutCancel(ctx) // the look-ups are evidence
	at := before
	if after := w.now(); after.Before(before) {
		at = after
	}
	ended := newEnds()
	for i, r := range results {
		if r != ledger.Recorded {
			continue
		}
		if o := outcomes[i]; w.run(o.RunID).settled != o.Token {
			ended.add(o)
		}
		w.recorded(outcomes[i], at)
	}
	if err == nil {
		err = w.ends(ctx, ended)
	}
	return results, err
}

// Cancel notes whose leases are gone.
func (w *Witness) Cancel(ctx context.Context, a ledger.Action) (ledger.ActionResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	got, err := w.Store.Cancel(ctx, a)
	if a.DryRun {
		return got, err
	}
	for _, r := range got.Changed {
		w.run(r.ID).token = ""
		w.ended(r.ID, r.JobID)
		if err == nil && r.Fan.Frozen() {
			err = w.canceledMembers(context.WithoutCancel(ctx), r.ID)
		}
	}
	return got, err
}

// Redrive notes runs that an operator forced past the slot.
func (w *Witness) Redrive(ctx context.Context, a ledger.Action) (ledger.ActionResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	got, err := w.Store.Redrive(ctx, a)
	if a.DryRun {
		return got, err
	}
	changed, err2 := w.withParents(context.WithoutCancel(ctx), got.Changed)
	if err == nil {
		err = err2
	}
	for _, r := range changed {
		w.renew(r)
		if !a.Force {
			continue
		}
		w.run(r.ID).forced = true
		if w.slots[r.JobID] == r.ID {
			delete(w.slots, r.JobID)
		}
	}
	return got, err
}

// Backfill notes the runs that now wait for the slot.
func (w *Witness) Backfill(ctx context.Context, b ledger.BackfillRequest) (ledger.Backfilled, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	waited := map[string]bool{}
	for _, in := range b.Runs {
		r, _, err := w.Store.Get(ctx, in.RunID)
		waited[in.RunID] = err == nil && r.State == ledger.Planned
	}
	got, err := w.Store.Backfill(ctx, b)
	ctx = context.WithoutCancel(ctx) // the look-ups are evidence
	if err != nil {
		return got, err
	}
	for _, in := range b.Runs {
		if r, _, err := w.Store.Get(ctx, in.RunID); err == nil && r.Trigger == ledger.ByBackfill {
			if r.State == ledger.Planned && !waited[in.RunID] {
				h := w.run(in.RunID)
				h.slotted, h.pace, h.forced = b.Pace == 0, b.Pace, false
				w.renew(r)
			}
		}
	}
	return got, nil
}

// PurgeRuns keeps what it deletes.
func (w *Witness) PurgeRuns(ctx context.Context, p ledger.Purge) (ledger.Purged, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before, err := w.rows(ctx)
	if err != nil {
		return ledger.Purged{}, err
	}
	histories := map[string][]ledger.Attempt{}
	for id := range before {
		if _, histories[id], err = w.Store.Get(ctx, id); err != nil {
			return ledger.Purged{}, err
		}
	}
	now := w.now()
	got, err := w.Store.PurgeRuns(ctx, p)
	ctx = context.WithoutCancel(ctx) // the look-ups are evidence
	if err != nil {
		return got, err
	}
	after, err := w.rows(ctx)
	if err != nil {
		return got, err
	}
	maps.DeleteFunc(before, func(id string, _ ledger.Run) bool { _, kept := after[id]; return kept })
	for _, id := range slices.Sorted(maps.Keys(before)) {
		r := before[id]
		w.purged = append(w.purged, r)
		w.removed = append(w.removed, Removal{r, now, p.Retention, p.DeadRetention})
		w.attempts[r.ID] = append(w.attempts[r.ID], histories[r.ID]...)
	}
	return got, nil
}

func (w *Witness) rows(ctx context.Context) (map[string]ledger.Run, error) {
	list, err := w.Store.List(ctx, ledger.Filter{WithMembers: true, Limit: math.MaxInt})
	rows := make(map[string]ledger.Run, len(list))
	for _, r := range list {
		rows[r.ID] = r
	}
	return rows, err
}
