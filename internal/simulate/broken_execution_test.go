package simulate_test

import (
	"context"
	"slices"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/simulate"
	"github.com/cronce/cronce/ledger"
)

// Broken parts whose faults neither the rows nor the effects show.

// hopeless takes "in progress" for a refusal.
func hopeless(inner executor.Caller, _ simulate.World) executor.Caller {
	return callerFunc(func(ctx context.Context, c executor.Call) executor.Answer {
		a := inner.Call(ctx, c)
		if a.Kind == ledger.AnswerInProgress {
			a.Kind, a.Reason = ledger.AnswerRefused, ledger.ReasonPermanent
		}
		return a
	})
}

// recording changes outcomes on their way into the rows.
func recording(change func(*store, *ledger.Outcome)) func(*store) {
	return func(s *store) {
		s.record = func(s *store, ctx context.Context, outcomes []ledger.Outcome) ([]ledger.RecordResult, error) {
			outcomes = slices.Clone(outcomes)
			for i := range outcomes {
				change(s, &outcomes[i])
			}
			return s.Store.Record(ctx, outcomes)
		}
	}
}

func failure(o *ledger.Outcome) bool {
	return o.Attempt.Answer == ledger.AnswerFailed || o.Attempt.Answer == ledger.AnswerUnknown || o.Attempt.Answer == ledger.AnswerThrottled
}

// resigned gives a run up with retries left.
func resigned(s *store, o *ledger.Outcome) {
	if o.State == ledger.Retrying && failure(o) {
		o.State, o.Reason = ledger.Dead, ledger.ReasonExhausted
	}
}

// misnaming gives another reason.
func misnaming(_ *store, o *ledger.Outcome) {
	if o.Reason == ledger.ReasonPermanent {
		o.Reason = ledger.ReasonPayloadMismatch
	}
}

// tireless does not count what failed.
func tireless(_ *store, o *ledger.Outcome) {
	if failure(o) {
		o.State, o.Reason, o.Failures, o.Wait = ledger.Retrying, "", 0, max(o.Wait, time.Minute)
	}
}

// impatientRetry does not wait.
func impatientRetry(_ *store, o *ledger.Outcome) {
	if o.State == ledger.Retrying {
		o.Wait = 0
	}
}

// oblivious keeps no attempt whose lease expired.
type oblivious struct{ ledger.Store }

func (o oblivious) Get(ctx context.Context, id string) (ledger.Run, []ledger.Attempt, error) {
	r, list, err := o.Store.Get(ctx, id)
	return r, slices.DeleteFunc(list, func(a ledger.Attempt) bool { return a.Answer == ledger.AnswerLost }), err
}

// hasty purges at once, what is dead and unseen too if unseen.
type hasty struct {
	ledger.Store
	unseen bool
}

func (h hasty) PurgeRuns(ctx context.Context, p ledger.Purge) (ledger.Purged, error) {
	if p.DeadRetention = p.Retention; !h.unseen {
		p.Retention = time.Minute
	}
	return h.Store.PurgeRuns(ctx, p)
}

// restless does not know of pauses.
type restless struct{ ledger.Store }

func (restless) PauseJob(context.Context, string, ledger.Actor) error { return nil }

func behind[S ledger.Store](s func(ledger.Store) S) simulate.Options {
	return simulate.Options{Ledger: func(inner ledger.Store, _ simulate.World) ledger.Store { return s(inner) }}
}

// planning changes scheduled times on their way into the rows.
func planning(change func(*store, *ledger.RunSpec)) func(*store) {
	return func(s *store) {
		s.admit = func(s *store, ctx context.Context, a ledger.Admission) (ledger.Admitted, error) {
			a.Plans = slices.Clone(a.Plans)
			for i := range a.Plans {
				a.Plans[i].Runs = slices.Clone(a.Plans[i].Runs)
				for k := range a.Plans[i].Runs {
					change(s, &a.Plans[i].Runs[k])
				}
			}
			return s.Store.Admit(ctx, a)
		}
	}
}

// neverLate catches nothing up.
func neverLate(_ *store, in *ledger.RunSpec) {
	if in.Trigger == ledger.ByCatchUp {
		in.State, in.Reason, in.Lease = ledger.Missed, ledger.ReasonCatchUpNone, false
	}
}

// shy skips as if something ran.
func shy(s *store, in *ledger.RunSpec) {
	if in.State == ledger.Planned && in.Overlap == ledger.OverlapAllow && s.often(10) {
		in.State, in.Reason, in.Lease = ledger.Skipped, ledger.ReasonOverlap, false
	}
}

// eager leases for targets without room.
func eager(s *store) {
	s.claim = func(s *store, ctx context.Context, c ledger.ClaimRequest) (ledger.Claimed, error) {
		c.BusyTargets = nil
		return s.Store.Claim(ctx, c)
	}
}

// choosy leaves, every other time, what goes to one target.
func choosy(s *store) {
	s.claim = func(s *store, ctx context.Context, c ledger.ClaimRequest) (ledger.Claimed, error) {
		if s.often(2) {
			c.BusyTargets = append(slices.Clone(c.BusyTargets), "books")
		}
		return s.Store.Claim(ctx, c)
	}
}

// sluggish does not find what is past its sendBefore, and leases it for nothing.
func sluggish(s *store) {
	s.claim = func(s *store, ctx context.Context, c ledger.ClaimRequest) (ledger.Claimed, error) {
		if len(c.Only) == 0 && !s.often(400) {
			c.BusyTargets = []string{"books", "members"}
			c.Only = []string{"nothing"}
		}
		return s.Store.Claim(ctx, c)
	}
}

// dropping ends, now and then, a job that it declares.
type dropping struct {
	executor.Ledger
	w simulate.World
	n *int
}

func (d dropping) Admit(ctx context.Context, a ledger.Admission) (ledger.Admitted, error) {
	if *d.n++; d.w.Dice("dropping", *d.n).IntN(50) == 0 && len(a.Plans) > 0 && a.Plans[0].Next == nil {
		a.Plans = slices.Clone(a.Plans)
		a.Plans[0].Next = &ledger.Definition{JobID: a.Plans[0].JobID}
	}
	return d.Ledger.Admit(ctx, a)
}

// forgets is an executor whose process is counted as gone, and that actions on it.
func forgets(inner executor.Ledger, w simulate.World) executor.Ledger {
	return dropping{inner, w, new(int)}
}
