package memory

import (
	"context"

	"github.com/cronce/cronce/ledger"
)

// Waiting returns why runs are not being sent.
func (l *Ledger) Waiting(ctx context.Context, ids []string) (map[string]ledger.WaitReason, error) {
	now, err := l.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	running, held := map[*job]int{}, map[string]ledger.GivenBack{}
	for _, r := range l.runs {
		if r.WaitReason.OfTarget() && !r.State.Finished() && r.DueAt().After(now) {
			if g := (ledger.GivenBack{RunID: r.ID, Until: r.DueAt(), Why: r.WaitReason}); g.After(held[r.Call.Target]) {
				held[r.Call.Target] = g
			}
		}
		if r.State == ledger.Running {
			running[r.job]++
		}
	}
	living := 0
	for _, p := range l.processes {
		if now.Sub(p.HeartbeatAt).Abs() <= ledger.ProcessTTL {
			living++
		}
	}
	why := map[string]ledger.WaitReason{}
	for _, id := range ids {
		r := l.runs[id]
		if r == nil || r.State != ledger.Planned && r.State != ledger.Retrying {
			continue
		}
		holder := ""
		if r.job.slot != nil {
			holder = r.job.slot.ID
		}
		why[id] = ledger.PendingRun{
			Run: r.View(), ForSlot: r.Waiting, Holder: holder, Due: !now.Before(r.DueAt()),
			Running: running[r.job], Processes: living, Held: held[r.Call.Target],
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
