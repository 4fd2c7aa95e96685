package contenders

import (
	"context"
	"time"

	"github.com/cronce/cronce/bench/rig"
	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Plan is cronce as far as what it has to compute: which jobs are due, and the
// run ID and request of each, in its own batches and through its own loop. Its
// ledger takes every plan at once and leases nothing, so nothing is stored or called.
var Plan = rig.Contender{Name: "cronce, the plan alone", Run: runPlan, Silent: true}

func runPlan(ctx context.Context, t *rig.Task) error {
	at := DueTime(t.Runs)
	reg, err := registry(t.Runs, at, 0)
	if err != nil {
		return err
	}
	l := &taker{registry: reg, task: t, at: at, begun: time.Now().UTC(), late: make([]time.Duration, 0, t.Runs)}
	t.Begin(at)
	return execute(ctx, t, reg, l, executor.NopObserver{})
}

// taker is a ledger that keeps nothing but the time of each plan.
type taker struct {
	registry *jobs.Registry
	task     *rig.Task
	at       time.Time
	begun    time.Time
	late     []time.Duration
}

func (l *taker) Assignments(_ context.Context, _, after string) ([]ledger.JobAssignment, error) {
	if after != "" {
		return nil, nil
	}
	all := make([]ledger.JobAssignment, 0, l.registry.Len())
	for i, j := range l.registry.All() {
		at := ledger.Position{JobID: j.ID, Revision: 1, Watermark: l.begun}
		all = append(all, ledger.JobAssignment{Position: at, Hash: l.registry.Hash(i), Desired: l.registry.Hash(i)})
	}
	return all, nil
}

func (l *taker) Admit(_ context.Context, a ledger.Admission) (ledger.Admitted, error) {
	late := time.Since(l.at)
	for _, p := range a.Plans {
		for range p.Runs {
			l.late = append(l.late, late)
		}
	}
	if len(l.late) == l.task.Runs {
		l.task.Done(rig.Lateness(l.late))
	}
	return ledger.Admitted{Now: time.Now()}, nil
}

func (l *taker) Heartbeat(context.Context, string) (ledger.HeartbeatReply, error) {
	return ledger.HeartbeatReply{Now: time.Now(), LiveVersions: []string{l.registry.Version()}, Processes: 1}, nil
}

func (l *taker) FreezeMembers(context.Context, ledger.Freeze) (ledger.RecordResult, error) {
	return ledger.Fenced, nil
}

func (l *taker) ReleaseMembers(context.Context, ledger.ReleaseRequest) (ledger.Released, error) {
	return ledger.Released{Now: time.Now()}, nil
}

func (l *taker) Claim(context.Context, ledger.ClaimRequest) (ledger.Claimed, error) {
	return ledger.Claimed{Now: time.Now()}, nil
}

func (l *taker) Declare(context.Context, ledger.Declaration) error { return nil }
func (l *taker) Deregister(context.Context, string) error          { return nil }

func (l *taker) Enter(context.Context, ledger.Entry) (ledger.Entered, error) {
	return ledger.Entered{}, nil
}

func (l *taker) PlanSchedules(context.Context, ledger.SchedulePlanning) (ledger.PlannedSchedules, error) {
	return ledger.PlannedSchedules{}, nil
}

func (l *taker) SweepSchedules(context.Context, ledger.ScheduleSweep) (int64, error) { return 0, nil }

func (l *taker) LeasedWork(context.Context, string) ([]ledger.Work, error) { return nil, nil }

func (l *taker) Extend(context.Context, []ledger.Lease, time.Duration) ([]ledger.Lease, error) {
	return nil, nil
}

func (l *taker) Get(context.Context, string) (ledger.Run, []ledger.Attempt, error) {
	return ledger.Run{}, nil, ledger.ErrNotFound
}

func (l *taker) Record(_ context.Context, o []ledger.Outcome) ([]ledger.RecordResult, error) {
	return make([]ledger.RecordResult, len(o)), nil
}
