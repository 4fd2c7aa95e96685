package chaos

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/cronce/cronce/ledger"
)

// settling is how long the fleet has, once nothing is broken any more, to end
// every run planned before: a killed process's definitions live for 30 s more,
// then leases expire and retries wait. It is far more than a machine takes that has
// nothing else to do.
const settling = 5 * time.Minute

// await asks the ledger until nothing is missing any more.
func (f *fleet) await(ctx context.Context, missing func(context.Context, store) (string, error)) error {
	ctx, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	s, err := f.ledger(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	look := time.NewTicker(500 * time.Millisecond)
	defer look.Stop()
	for {
		what, err := missing(ctx, s)
		if err == nil && what == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not settled after %v without a fault: %s %w", settling, what, errors.Join(err, f.crashed()))
		case <-look.C:
		}
	}
}

// unbegun names a job that has no revision yet: before it has one, none of its
// scheduled times is the ledger's, so nothing is broken and no event delivered.
func (f *fleet) unbegun(ctx context.Context, _ store) (string, error) {
	turns, err := f.turns(ctx)
	if err != nil {
		return "", err
	}
	return f.elsewhere(turns), nil
}

// elsewhere names a job that does not stand on the deployed revision.
func (f *fleet) elsewhere(turns []turn) string {
	stands := map[string]string{}
	for _, t := range turns {
		stands[t.jobID] = t.hash
		if t.ended {
			delete(stands, t.jobID)
		}
	}
	for _, spec := range specs {
		if want := f.deployed.latest[spec.id]; stands[spec.id] != want {
			return fmt.Sprintf("%s stands on definition %q, deployed is %q", spec.id, stands[spec.id], want)
		}
	}
	return ""
}

// unplanned names a job that does not stand on the deployed revision or is not
// planned up to the time.
func (f *fleet) unplanned(ctx context.Context, s store, healed time.Time) (string, error) {
	turns, err := f.turns(ctx)
	if err != nil {
		return "", err
	}
	if what := f.elsewhere(turns); what != "" {
		return what, nil
	}
	all, err := s.Jobs(ctx)
	if err != nil {
		return "", err
	}
	for _, j := range all {
		if !j.Ended && j.Watermark.Before(healed.Truncate(time.Second)) && f.deployed.latest[j.JobID] != "" {
			return fmt.Sprintf("%s is planned up to %s only", j.JobID, j.Watermark), nil
		}
	}
	return f.unplannedSchedule(ctx, s, healed)
}

// unfinished names something that is not done yet: what schedulers have not
// planned, or a run planned before the time that has not ended.
func (f *fleet) unfinished(ctx context.Context, s store, healed time.Time) (string, error) {
	if !f.FunctionsOnly {
		if what, err := f.unplanned(ctx, s, healed); what != "" || err != nil {
			return what, err
		}
	}
	rows, err := s.List(ctx, ledger.Filter{States: ledger.Unfinished, Limit: math.MaxInt32})
	for _, r := range rows {
		if !r.PlannedAt.After(healed) {
			return fmt.Sprintf("%s is %s", r.ID, r.State), err
		}
	}
	if err != nil {
		return "", err
	}
	if n, err := f.redriveParents(ctx, s); n > 0 || err != nil {
		return fmt.Sprintf("%d parents were redriven", n), err
	}
	return "", nil
}
