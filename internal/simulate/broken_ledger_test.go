package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/simulate"
	"github.com/cronce/cronce/ledger"
)

// store is a broken ledger. A Witness asks it one request at a time.
type store struct {
	ledger.Store
	w       simulate.World
	n       int // of requests that throw dice
	admit   func(*store, context.Context, ledger.Admission) (ledger.Admitted, error)
	claim   func(*store, context.Context, ledger.ClaimRequest) (ledger.Claimed, error)
	enter   func(*store, context.Context, ledger.Entry) (ledger.Entered, error)
	record  func(*store, context.Context, []ledger.Outcome) ([]ledger.RecordResult, error)
	extend  func(*store, context.Context, []ledger.Lease, time.Duration) ([]ledger.Lease, error)
	stand   func(*store, context.Context, string, string) ([]ledger.JobAssignment, error)
	holders map[string]string // run -> the token of its latest lease
}

func ledgerOf(breaks func(*store)) simulate.Options {
	return simulate.Options{Ledger: func(inner ledger.Store, w simulate.World) ledger.Store {
		s := &store{Store: inner, w: w, holders: map[string]string{}}
		breaks(s)
		return s
	}}
}

// often reports true one time in n.
func (s *store) often(n int) bool {
	s.n++
	return s.w.Dice("mutant", s.n).IntN(n) == 0
}

func (s *store) Admit(ctx context.Context, a ledger.Admission) (got ledger.Admitted, err error) {
	if s.admit != nil {
		got, err = s.admit(s, ctx, a)
	} else {
		got, err = s.Store.Admit(ctx, a)
	}
	s.hold(got.Leased)
	return got, err
}

func (s *store) Claim(ctx context.Context, c ledger.ClaimRequest) (got ledger.Claimed, err error) {
	if s.claim != nil {
		got, err = s.claim(s, ctx, c)
	} else {
		got, err = s.Store.Claim(ctx, c)
	}
	s.hold(got.Work)
	return got, err
}

func (s *store) Enter(ctx context.Context, e ledger.Entry) (got ledger.Entered, err error) {
	if s.enter != nil {
		got, err = s.enter(s, ctx, e)
	} else {
		got, err = s.Store.Enter(ctx, e)
	}
	if got.Work != nil {
		s.hold([]ledger.Work{*got.Work})
	}
	return got, err
}

func (s *store) Record(ctx context.Context, o []ledger.Outcome) ([]ledger.RecordResult, error) {
	if s.record != nil {
		return s.record(s, ctx, o)
	}
	return s.Store.Record(ctx, o)
}

func (s *store) Extend(ctx context.Context, l []ledger.Lease, d time.Duration) ([]ledger.Lease, error) {
	if s.extend != nil {
		return s.extend(s, ctx, l, d)
	}
	return s.Store.Extend(ctx, l, d)
}

func (s *store) Assignments(ctx context.Context, version, after string) ([]ledger.JobAssignment, error) {
	if s.stand != nil {
		return s.stand(s, ctx, version, after)
	}
	return s.Store.Assignments(ctx, version, after)
}

func (s *store) hold(work []ledger.Work) {
	for _, w := range work {
		s.holders[w.RunID] = w.Token
	}
}

// unfenced records an outcome whether or not the caller holds the lease.
func unfenced(s *store) {
	s.record = func(s *store, ctx context.Context, outcomes []ledger.Outcome) ([]ledger.RecordResult, error) {
		outcomes = slices.Clone(outcomes)
		for i := range outcomes {
			if token := s.holders[outcomes[i].RunID]; token != "" {
				outcomes[i].Token = token
			}
		}
		return s.Store.Record(ctx, outcomes)
	}
}

// tokenless knows that a run is leased, not to whom.
func tokenless(s *store) {
	const any = "leased"
	s.admit = func(s *store, ctx context.Context, a ledger.Admission) (ledger.Admitted, error) {
		token := a.Token
		a.Token = any
		got, err := s.Store.Admit(ctx, a)
		rename(got.Leased, token)
		return got, err
	}
	s.claim = func(s *store, ctx context.Context, c ledger.ClaimRequest) (ledger.Claimed, error) {
		token := c.Token
		c.Token = any
		got, err := s.Store.Claim(ctx, c)
		rename(got.Work, token)
		return got, err
	}
	s.enter = func(s *store, ctx context.Context, e ledger.Entry) (ledger.Entered, error) {
		token := e.Token
		e.Token = any
		got, err := s.Store.Enter(ctx, e)
		if got.Work != nil {
			got.Work.Token = token
		}
		return got, err
	}
	s.extend = func(s *store, ctx context.Context, l []ledger.Lease, d time.Duration) ([]ledger.Lease, error) {
		l = slices.Clone(l)
		for i := range l {
			l[i].Token = any
		}
		return s.Store.Extend(ctx, l, d)
	}
	s.record = func(s *store, ctx context.Context, outcomes []ledger.Outcome) ([]ledger.RecordResult, error) {
		outcomes = slices.Clone(outcomes)
		for i := range outcomes {
			outcomes[i].Token = any
		}
		return s.Store.Record(ctx, outcomes)
	}
}

func rename(work []ledger.Work, token string) {
	for i := range work {
		work[i].Token = token
	}
}

// eternal leases are for good.
func eternal(s *store) {
	const ever = 1000 * time.Hour
	s.admit = func(s *store, ctx context.Context, a ledger.Admission) (ledger.Admitted, error) {
		a.LeaseFor = ever
		return s.Store.Admit(ctx, a)
	}
	s.claim = func(s *store, ctx context.Context, c ledger.ClaimRequest) (ledger.Claimed, error) {
		c.LeaseFor = ever
		return s.Store.Claim(ctx, c)
	}
	s.extend = func(s *store, ctx context.Context, l []ledger.Lease, _ time.Duration) ([]ledger.Lease, error) {
		return s.Store.Extend(ctx, l, ever)
	}
}

// watermarkFirst moves the watermark, and then dies now and then before it has
// written the rows.
func watermarkFirst(s *store) {
	s.admit = func(s *store, ctx context.Context, a ledger.Admission) (ledger.Admitted, error) {
		if !s.often(20) {
			return s.Store.Admit(ctx, a)
		}
		moved := a
		moved.Plans = nil
		for _, p := range a.Plans {
			if p.Next == nil {
				p.Runs = nil
				moved.Plans = append(moved.Plans, p)
			}
		}
		_, _ = s.Store.Admit(ctx, moved)
		return ledger.Admitted{}, fmt.Errorf("%w: died between two statements", ledger.ErrUnavailable)
	}
}

// anyPlan admits what was planned from somewhere else, too.
func anyPlan(s *store) {
	s.admit = func(s *store, ctx context.Context, a ledger.Admission) (ledger.Admitted, error) {
		got, err := s.Store.Admit(ctx, a)
		if err != nil || len(got.Stale) == 0 {
			return got, err
		}
		again := a
		again.Plans = nil
		for _, p := range a.Plans {
			for _, at := range got.Stale {
				if at.JobID == p.JobID && at.Revision > 0 && p.Next == nil {
					p.Revision, p.After = at.Revision, at.Watermark
					p.Through = later(p.Through, at.Watermark)
					again.Plans = append(again.Plans, p)
				}
			}
		}
		more, err := s.Store.Admit(ctx, again)
		got.Leased = append(got.Leased, more.Leased...)
		if errors.Is(err, ledger.ErrInvalidRun) { // of this plan's own making: its executor is to ask again
			err = ledger.ErrUnavailable
		}
		return got, err
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// forgetful has each start begin to plan at the present time.
func forgetful(s *store) {
	anyPlan(s)
	s.stand = func(s *store, ctx context.Context, version, after string) ([]ledger.JobAssignment, error) {
		list, err := s.Store.Assignments(ctx, version, after)
		for i := range list {
			if list[i].Revision > 1 || s.often(2) {
				list[i].Watermark = later(list[i].Watermark, s.w.Now())
			}
		}
		return list, err
	}
}

// early admits what is due in the next half hour.
func early(s *store) {
	const ahead = 30 * time.Minute
	clock := s.Store.(interface{ ShiftClock(time.Duration) })
	s.admit = func(s *store, ctx context.Context, a ledger.Admission) (ledger.Admitted, error) {
		clock.ShiftClock(ahead)
		defer clock.ShiftClock(-ahead)
		return s.Store.Admit(ctx, a)
	}
}

// hastyEdit switches definitions without planning the old one to its end.
func hastyEdit(s *store) {
	s.admit = func(s *store, ctx context.Context, a ledger.Admission) (ledger.Admitted, error) {
		a.Plans = slices.Clone(a.Plans)
		for i := range a.Plans {
			if a.Plans[i].Next != nil {
				a.Plans[i].Runs = nil
			}
		}
		return s.Store.Admit(ctx, a)
	}
}

// shortRange leaves a scheduled time out of a range.
func shortRange(s *store) {
	s.admit = func(s *store, ctx context.Context, a ledger.Admission) (ledger.Admitted, error) {
		for _, p := range a.Plans {
			for i := range p.Runs {
				if !p.Runs[i].Until.IsZero() {
					p.Runs[i].Count--
				}
			}
		}
		return s.Store.Admit(ctx, a)
	}
}

// slotless lets every run start.
func slotless(s *store) {
	s.admit = func(s *store, ctx context.Context, a ledger.Admission) (ledger.Admitted, error) {
		a.Plans = slices.Clone(a.Plans)
		for i := range a.Plans {
			a.Plans[i].Runs = slices.Clone(a.Plans[i].Runs)
			for k := range a.Plans[i].Runs {
				a.Plans[i].Runs[k].Overlap = ledger.OverlapAllow
			}
		}
		return s.Store.Admit(ctx, a)
	}
}

// timeless runs may be sent for ever.
func timeless(s *store) {
	const ever = 10_000 * time.Hour
	s.admit = func(s *store, ctx context.Context, a ledger.Admission) (ledger.Admitted, error) {
		for _, p := range a.Plans {
			for i := range p.Runs {
				p.Runs[i].Call.Horizon = ever
			}
		}
		return s.Store.Admit(ctx, a)
	}
}

// unfrozen sends what the newest registry says.
func unfrozen(s *store) {
	s.claim = func(s *store, ctx context.Context, c ledger.ClaimRequest) (ledger.Claimed, error) {
		got, err := s.Store.Claim(ctx, c)
		for i, w := range got.Work {
			if j, ok := s.w.Current().Job(w.JobID); ok {
				got.Work[i].Call = executor.FrozenCall(j, w.RunID, w.ScheduledAt)
			}
		}
		return got, err
	}
}

// optimist takes one failure in ten for a success.
func optimist(s *store) {
	s.record = func(s *store, ctx context.Context, outcomes []ledger.Outcome) ([]ledger.RecordResult, error) {
		outcomes = slices.Clone(outcomes)
		for i := range outcomes {
			if outcomes[i].State == ledger.Dead && s.often(10) {
				outcomes[i].State, outcomes[i].Reason = ledger.Succeeded, ""
			}
		}
		return s.Store.Record(ctx, outcomes)
	}
}
