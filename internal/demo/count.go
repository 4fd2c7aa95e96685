package demo

import (
	"context"
	"errors"
	"fmt"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// tally compares the ledger's runs with the target's effects.
type tally struct {
	scheduled int // scheduled times that the ledger accounts for
	succeeded int
	effects   int // run IDs that the target has applied
	doubled   int // applied more than once
	lost      int // succeeded without an effect, or given up
	stray     int // effects that no run accounts for
	attempts  int
	replayed  int
	open      int
}

func (d *demo) count(ctx context.Context) (tally, error) {
	effects, err := d.service.Effects(ctx)
	if err != nil {
		return tally{}, err
	}
	runs, err := d.runs(ctx)
	if err != nil {
		return tally{}, err
	}
	t := tally{effects: len(effects)}
	for _, n := range effects {
		if n > 1 {
			t.doubled++
		}
	}
	accounted := 0
	for _, r := range runs {
		t.add(r, effects[r.ID])
		if effects[r.ID] > 0 {
			accounted++
		}
	}
	t.stray = t.effects - accounted
	return t, nil
}

func (t *tally) add(r ledger.Run, effects int) {
	if r.Reason == ledger.ReasonPaused {
		return // after the end
	}
	t.scheduled += r.Count
	t.attempts += r.Attempt
	if r.Replayed {
		t.replayed++
	}
	switch {
	case !r.State.Finished():
		t.open++
	case r.State == ledger.Succeeded:
		t.succeeded++
		if effects == 0 {
			t.lost++
		}
	default:
		t.lost += r.Count
	}
}

// runs lists every run of the demo's own jobs.
func (d *demo) runs(ctx context.Context) ([]ledger.Run, error) {
	var all []ledger.Run
	var before *ledger.Cursor
	for {
		page, err := d.ledger.List(ctx, ledger.Filter{Limit: 500, Before: before})
		if err != nil {
			return nil, err
		}
		for _, r := range page {
			if r.JobID != jobs.PurgeJobID {
				all = append(all, r)
			}
		}
		if len(page) < 500 {
			return all, nil
		}
		last := page[len(page)-1]
		before = &ledger.Cursor{ScheduledAt: last.ScheduledAt, ID: last.ID}
	}
}

// finished reports whether nothing is left to do.
func (d *demo) finished(ctx context.Context) (bool, error) {
	t, err := d.count(ctx)
	return err == nil && t.open == 0, err
}

// checkResult prints the end and returns an error unless every scheduled time had
// exactly one effect.
func (d *demo) checkResult(ctx context.Context) error {
	t, err := d.count(ctx)
	if err != nil {
		return err
	}
	d.view.clear(d)
	f := d.faults
	fmt.Fprintf(d.Out, `
  scheduled %4d   scheduled times in the ledger, each with one run
  effects   %4d   run IDs that the target applied
  doubled   %4d   applied more than once
  lost      %4d   scheduled times without an effect
  calls     %4d   HTTP requests, retries included
  replays   %4d   runs whose answer was a stored one

  broken on the way: %d responses lost after the work was done, %d connections reset,
  %d answers 503, %d answers delayed; the scheduler was killed %d times
`, t.scheduled, t.effects, t.doubled, t.lost, f.calls.Load(), t.replayed,
		f.dropped.Load(), f.resets.Load(), f.refused.Load(), f.slow.Load(), d.scheduler.kills)
	if t.scheduled == 0 || t.effects != t.scheduled || t.doubled+t.lost+t.stray > 0 {
		return errors.New("effects and scheduled times differ: this must not happen, please report it")
	}
	_, err = fmt.Fprintf(d.Out, "\n  effects = scheduled: every scheduled time had exactly one effect\n")
	return err
}
