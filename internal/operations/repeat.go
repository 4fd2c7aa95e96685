package operations

import (
	"context"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

// A request whose answer was lost may have been done. What it did is in the audit,
// under its name: nothing is done again, whatever happened to the runs since.

// RepeatedWithin is how long a request keeps its name: later, the name is another's.
const RepeatedWithin = 24 * time.Hour

// doneBy is what a request did, oldest first.
func (s *Service) doneBy(ctx context.Context, request string) ([]ledger.Audit, error) {
	var all []ledger.Audit
	f := ledger.AuditFilter{Request: request, Limit: ledger.MaxAuditPage}
	for {
		page, err := s.ledger.Audit(ctx, f)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < f.Limit {
			slices.Reverse(all)
			since := s.now().Add(-RepeatedWithin)
			return slices.DeleteFunc(all, func(a ledger.Audit) bool { return a.At.Before(since) }), nil
		}
		f.Before = page[len(page)-1].ID
	}
}

// Entered returns the run that a request made, as it is now.
func (s *Service) Entered(ctx context.Context, request string) (v Run, done bool, err error) {
	acts, err := s.doneBy(ctx, request)
	if err != nil || len(acts) == 0 {
		return v, false, err
	}
	id := acts[0].RunID
	if acts[0].Action == ledger.ActionRerun {
		id = acts[0].RerunID
	}
	run, _, err := s.ledger.Get(ctx, id)
	return RunOf(run), err == nil, err
}

// WasSet returns what a request made of a job.
func (s *Service) WasSet(ctx context.Context, request, state string) (v JobActionResult, done bool, err error) {
	acts, err := s.doneBy(ctx, request)
	if err != nil || len(acts) == 0 {
		return v, false, err
	}
	return JobActionResult{acts[0].JobID, state}, true, nil
}

// Acted returns the runs that a request changed, as they are now, the oldest first.
// Those that it refused are no longer known.
func (s *Service) Acted(ctx context.Context, request string) (v RunActionResult, done bool, err error) {
	acts, err := s.doneBy(ctx, request)
	if err != nil || len(acts) == 0 {
		return v, false, err
	}
	var changed []ledger.Run
	for some := range slices.Chunk(acts, MaxPage) {
		f := ledger.Filter{Limit: MaxPage}
		for _, a := range some {
			f.IDs = append(f.IDs, a.RunID)
		}
		runs, err := s.ledger.List(ctx, f)
		if err != nil {
			return v, false, err
		}
		slices.Reverse(runs)
		changed = append(changed, runs...)
	}
	return actedOf(ledger.ActionResult{Changed: changed}, false), true, nil
}
