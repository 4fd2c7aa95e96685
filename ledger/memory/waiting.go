package memory

import (
	"context"

	"github.com/cronce/cronce/internal/ledgerrules"
	"github.com/cronce/cronce/ledger"
)

// Waiting returns why runs are not being sent. See ledger.Store.
func (l *Ledger) Waiting(ctx context.Context, ids []string) (map[string]ledger.WaitReason, error) {
	now, err := l.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	holder, running, held := map[*job]string{}, map[*job]int{}, map[string]ledgerrules.GivenBack{}
	for _, r := range l.runs {
		if r.WaitReason.OfTarget() && !r.State.Finished() && r.NextAt.After(now) {
			if g := (ledgerrules.GivenBack{RunID: r.ID, Until: r.NextAt, Why: r.WaitReason}); g.After(held[r.Call.Target]) {
				held[r.Call.Target] = g
			}
		}
		if r.State == ledger.Running {
			running[r.job]++
		}
		if r.takesSlot && !r.waiting && !r.State.Finished() {
			holder[r.job] = r.ID
		}
	}
	why := map[string]ledger.WaitReason{}
	for _, id := range ids {
		r := l.runs[id]
		if r == nil || r.State != ledger.Planned && r.State != ledger.Retrying {
			continue
		}
		why[id] = ledgerrules.PendingRun{
			Run: r.Run, ForSlot: r.waiting, Holder: holder[r.job], Due: !now.Before(r.NextAt),
			Running: running[r.job], Processes: l.countAlive(now), Held: held[r.Call.Target],
		}.WaitReason()
	}
	return why, nil
}

// addOutcomes completes a job's status from its runs, newest first.
func addOutcomes(s *ledger.JobStatus, runs []*record) {
	for _, r := range runs {
		if r.State == ledger.Dead && r.AckedAt.IsZero() {
			s.DeadUnacknowledged++
		}
	}
	for _, r := range runs[:min(len(runs), ledger.OutcomeWindow)] {
		if r.State != ledger.Succeeded && r.State != ledger.Dead {
			continue
		}
		if s.LastOutcome == nil {
			run := r.listed()
			s.LastOutcome = &run
		}
		if r.State == ledger.Succeeded {
			return
		}
		s.FailingSince = r.ScheduledAt
	}
}
