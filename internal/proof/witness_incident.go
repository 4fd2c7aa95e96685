package proof

import (
	"context"

	"github.com/cronce/cronce/ledger"
)

// Problems names what an incident is about.
type Problems struct {
	JobID string
	Cause ledger.IncidentCause
}

// ends are the runs that one record ended, by job: the greatest ID of those that died
// and of those that succeeded, and how many died.
type ends struct {
	died, succeeded map[string]string
	deaths          map[string]int
}

func newEnds() ends { return ends{map[string]string{}, map[string]string{}, map[string]int{}} }

func (e ends) add(o ledger.Outcome) {
	if ledger.IsMember(o.RunID) {
		return // its parent's incident counts it
	}
	job := ledger.JobOf(o.RunID)
	switch o.State {
	case ledger.Dead:
		e.died[job] = max(e.died[job], o.RunID)
		e.deaths[job]++
	case ledger.Succeeded:
		e.succeeded[job] = max(e.succeeded[job], o.RunID)
	}
}

// ends looks at the incidents that a record opened and closed.
func (w *Witness) ends(ctx context.Context, e ends) error {
	for job, n := range e.deaths {
		w.problems[Problems{job, ledger.IncidentDead}] += n
		delete(e.succeeded, job) // its incidents stay open
	}
	if len(e.died) == 0 && len(e.succeeded) == 0 {
		return nil
	}
	open, err := w.openIncidents(ctx)
	if err != nil {
		return err
	}
	for job, runID := range e.died {
		if i := open[Problems{job, ledger.IncidentDead}]; i.RunID != runID {
			w.saw(Unopened, runID, "dead; the open incident is of %q", i.RunID)
		}
	}
	for of, i := range open {
		if id := e.succeeded[of.JobID]; id != "" && of.Cause != ledger.IncidentUnplanned {
			w.saw(Unclosed, of.JobID, "incident %d (%s), after the success of %s", i.ID, of.Cause, id)
		}
	}
	return nil
}

// missed counts the missed scheduled times that a plan has just written.
func (w *Witness) missed(p ledger.Plan, r ledger.Run) {
	last := r.ScheduledAt
	if !r.Until.IsZero() {
		last = r.Until
	}
	if r.State == ledger.Missed && !(w.covered(p, r.ScheduledAt) && w.covered(p, last)) {
		w.problems[Problems{r.JobID, ledger.IncidentMissed}] += r.Count
	}
}

// openIncidents are those that are open now.
func (w *Witness) openIncidents(ctx context.Context) (map[Problems]ledger.Incident, error) {
	list, err := w.incidents(ctx, ledger.IncidentFilter{Open: true})
	open := map[Problems]ledger.Incident{}
	for _, i := range list {
		of := Problems{i.JobID, i.Cause}
		if other, twice := open[of]; twice {
			w.saw(Twofold, i.JobID, "%s: %d and %d", i.Cause, i.ID, other.ID)
		}
		open[of] = i
	}
	return open, err
}

// incidents are all that a filter selects.
func (w *Witness) incidents(ctx context.Context, f ledger.IncidentFilter) (all []ledger.Incident, err error) {
	f.Limit = ledger.MaxIncidentPage
	for {
		page, err := w.Store.Incidents(ctx, f)
		all = append(all, page...)
		if err != nil || len(page) < f.Limit {
			return all, err
		}
		f.Before = page[len(page)-1].ID
	}
}

// Notify looks whether what is told is so.
func (w *Witness) Notify(ctx context.Context, t ledger.Notification) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before, err := w.incidents(ctx, ledger.IncidentFilter{ID: t.ID})
	if err != nil {
		return false, err
	}
	done, err := w.Store.Notify(ctx, t)
	ctx = context.WithoutCancel(ctx) // the look-ups are evidence
	if err != nil || !done {
		return done, err
	}
	for _, e := range t.Runs {
		n, ok := noticeOf(e.RunID)
		if !ok || len(before) == 0 || !n.fits(before[0]) {
			w.saw(Baseless, e.RunID, "of %+v", before)
		}
		if _, _, err := w.Store.Get(ctx, e.RunID); err != nil {
			w.saw(Untold, e.RunID, "its run was not written")
		}
	}
	return true, nil
}

// MarkLate is one request at a time.
func (w *Witness) MarkLate(ctx context.Context, limit int) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Store.MarkLate(ctx, limit)
}

// ReconcileIncidents is one request at a time.
func (w *Witness) ReconcileIncidents(ctx context.Context, cause ledger.IncidentCause, observed []ledger.JobProblem) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Store.ReconcileIncidents(ctx, cause, observed)
}

// AckIncident is one request at a time.
func (w *Witness) AckIncident(ctx context.Context, a ledger.IncidentAction) (ledger.Incident, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Store.AckIncident(ctx, a)
}
