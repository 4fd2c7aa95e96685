package ledgertest

import (
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

// filter selects some runs by some of their properties.
func (w *twins) filter() ledger.Filter {
	var f ledger.Filter
	if w.IntN(2) == 0 {
		f.JobID = pick(w, append(slices.Clone(w.jobs), "unknown")...)
	}
	if w.IntN(3) == 0 {
		f.States = []ledger.State{pick(w, ledger.States...), pick(w, ledger.States...)}
	}
	if w.IntN(5) == 0 {
		f.Reason = pick(w, ledger.ReasonOverlap, ledger.ReasonExhausted, ledger.ReasonKeyExpired)
	}
	if w.IntN(4) == 0 {
		f.Since = w.at(pick(w, w.jobs...), w.IntN(w.hours+2))
	}
	if w.IntN(4) == 0 {
		f.Until = w.at(pick(w, w.jobs...), w.IntN(w.hours+2))
	}
	if len(w.runs) > 0 && w.IntN(5) == 0 {
		r := pick(w, w.runs...)
		f.Before = &ledger.Cursor{ScheduledAt: r.ScheduledAt, ID: r.ID}
	}
	f.Unacknowledged, f.NotRerun = w.IntN(4) == 0, w.IntN(4) == 0
	f.Limit = pick(w, -1, 0, 1, 2, 3, 50)
	return f
}

func (w *twins) act() {
	a := ledger.Action{Filter: w.filter(), Actor: ledger.Actor{By: "me", Why: fmt.Sprint("act ", w.tokens)}, Force: w.IntN(2) == 0}
	a.IncludeAcknowledged, a.MayDouble, a.DryRun = w.IntN(2) == 0, w.IntN(2) == 0, w.IntN(5) == 0
	if w.IntN(3) == 0 {
		a.Filter = ledger.Filter{IDs: append(w.someRuns(), "none")}
	}
	doing := w.IntN(3)
	w.ask(fmt.Sprintf("act %d %+v", doing, a), func(s ledger.Store) (any, error) {
		got, err := []func() (ledger.ActionResult, error){
			func() (ledger.ActionResult, error) { return s.Cancel(w.ctx, a) },
			func() (ledger.ActionResult, error) { return s.Redrive(w.ctx, a) },
			func() (ledger.ActionResult, error) { return s.Ack(w.ctx, a) },
		}[doing]()
		var refused []string
		for _, r := range got.Rejected {
			refused = append(refused, fmt.Sprint(r.RunID, " ", r.Cause))
		}
		slices.Sort(refused)
		return []any{got.Changed, refused, got.LeftOut}, err
	})
}

func (w *twins) backfill() {
	b := ledger.Backfill{JobID: pick(w, append(slices.Clone(w.jobs), "unknown")...), Actor: ledger.Actor{By: "me", Why: "test"}, DryRun: w.IntN(4) == 0}
	for i := range w.hours + 2 {
		if w.IntN(3) == 0 {
			in := w.spec(b.JobID, i)
			in.Trigger = ledger.ByBackfill
			b.Runs = append(b.Runs, in)
		}
	}
	w.ask("backfill", func(s ledger.Store) (any, error) { return s.Backfill(w.ctx, b) })
}

// purge asks for a batch only where no two runs are at one scheduled time: which of
// those goes first is left to a ledger.
func (w *twins) purge() {
	p := ledger.Purge{Retention: time.Duration(w.IntN(8))*time.Hour + quarter, DryRun: w.IntN(5) == 0}
	p.DeadRetention = time.Duration(w.IntN(12))*time.Hour + quarter
	apart := true
	for i := 1; i < len(w.runs); i++ {
		apart = apart && w.runs[i].ScheduledAt.After(w.runs[i-1].ScheduledAt)
	}
	if apart {
		p.Batch = pick(w, -1, 0, 1, 2, 5)
	}
	if w.IntN(3) == 0 {
		p.From.After = w.at(pick(w, w.jobs...), w.IntN(w.hours+2))
	}
	for range 3 {
		var got ledger.Purged
		w.ask(fmt.Sprintf("purge %+v", p), func(s ledger.Store) (_ any, err error) {
			got, err = s.PurgeRuns(w.ctx, p)
			return got, err
		})
		if !got.More {
			return
		}
		p.From = got.Next
	}
}

func (w *twins) pause() {
	job := pick(w, append(slices.Clone(w.jobs), "unknown")...)
	resume := w.IntN(2) == 0
	w.ask(fmt.Sprint("pause, resume ", resume, job), func(s ledger.Store) (any, error) {
		if resume {
			return nil, s.Resume(w.ctx, job, ledger.Actor{By: "me", Why: "test"})
		}
		return nil, s.Pause(w.ctx, job, ledger.Actor{By: "me", Why: "test"})
	})
}

// list goes through all pages of what a filter selects.
func (w *twins) list() {
	f := w.filter()
	f.Limit = pick(w, -1, 1, 2, 7)
	for more := true; more; {
		w.ask(fmt.Sprintf("list %+v", f), func(s ledger.Store) (any, error) {
			runs, err := s.List(w.ctx, f)
			if more = f.Limit > 0 && len(runs) == f.Limit; more && s == w.both[1].Store {
				f.Before = &ledger.Cursor{ScheduledAt: runs[len(runs)-1].ScheduledAt, ID: runs[len(runs)-1].ID}
			}
			return runs, err
		})
	}
}
