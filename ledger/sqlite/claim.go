package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/cronce/cronce/internal/ledgerrules"
	"github.com/cronce/cronce/ledger"
)

// Claim leases work that is due, oldest first. See ledger.Claim.
func (l *Ledger) Claim(ctx context.Context, c ledger.Claim) (out ledger.Claimed, err error) {
	err = l.write(ctx, func(t *tx) error {
		out, err = t.claim(c)
		return err
	})
	if err != nil {
		return ledger.Claimed{}, fmt.Errorf("claim: %w", err)
	}
	return out, nil
}

func (t *tx) claim(c ledger.Claim) (ledger.Claimed, error) {
	out := ledger.Claimed{Now: t.clock()}
	for more := true; more && len(out.Work) < c.Limit; {
		var err error
		if more, err = t.claimBatch(c, &out); err != nil {
			return out, err
		}
	}
	if err := t.openIncidents(ledger.IncidentDead, ledgerrules.DeadProblems(out.PastSendBefore)); err != nil {
		return out, err
	}
	var next nullTime
	_, err := t.one(`SELECT min(due_at) FROM runs WHERE due_at > ? AND waiting = 0`, []any{t.now}, &next)
	out.NextAt = next.time()
	return out, err
}

// claimBatch fills the claim once. Runs past their SendBefore leave room in the batch:
// then there may be more work.
func (t *tx) claimBatch(c ledger.Claim, out *ledger.Claimed) (more bool, err error) {
	due, err := t.due(c, c.Limit-len(out.Work))
	if err != nil {
		return false, err
	}
	var freed []string
	for _, s := range due {
		pastSendBefore, err := t.take(s, c, out)
		if err != nil {
			return false, fmt.Errorf("%s: %w", s.ID, err)
		}
		if pastSendBefore {
			freed = append(freed, s.ID)
		}
	}
	return len(freed) > 0, t.promoteAfter(freed)
}

// Due runs of busy targets and jobs are skipped in the index.
const (
	dueRuns = `
		SELECT ` + runColumns + ` FROM runs
		WHERE due_at <= ?1 AND waiting = 0
		  AND target NOT IN (SELECT value FROM json_each(?2)) AND job_id NOT IN (SELECT value FROM json_each(?3))
		ORDER BY due_at LIMIT ?4`
	dueOnly = `
		SELECT ` + runColumns + ` FROM runs
		WHERE run_id IN (SELECT value FROM json_each(?5)) AND due_at <= ?1 AND waiting = 0
		  AND target NOT IN (SELECT value FROM json_each(?2)) AND job_id NOT IN (SELECT value FROM json_each(?3))
		ORDER BY due_at LIMIT ?4`
)

func (t *tx) due(c ledger.Claim, limit int) ([]stored, error) {
	args := []any{t.now, array(c.BusyTargets), array(c.BusyJobs), limit}
	if len(c.Only) == 0 {
		return all(t, scanRun, dueRuns, args...)
	}
	return all(t, scanRun, dueOnly, append(args, array(c.Only))...)
}

// take leases a due run. A run at or past its SendBefore becomes dead instead.
func (t *tx) take(s stored, c ledger.Claim, out *ledger.Claimed) (pastSendBefore bool, err error) {
	if s.State == ledger.Running {
		if err := t.keepLostAttempt(s); err != nil {
			return false, err
		}
	}
	if !s.SendBefore.IsZero() && s.SendBefore.UnixMicro() <= t.now {
		dead, err := t.makeDead(s)
		out.PastSendBefore = append(out.PastSendBefore, dead)
		return true, err
	}
	w, err := t.lease(s, holder{c.Owner, c.Token, c.LeaseFor})
	out.Work = append(out.Work, w)
	return false, err
}

// lease gives the run its next attempt number. The run's very first lease fixes
// SendBefore.
func (t *tx) lease(s stored, h holder) (ledger.Work, error) {
	s.Attempt++
	s.token = h.token
	s.LeasedUntil = at(t.now + h.leaseFor.Microseconds())
	if s.SendBefore.IsZero() {
		s.StartedAt, s.SendBefore = t.clock(), at(t.now+s.Call.Horizon.Microseconds())
	}
	_, err := t.exec(`
		UPDATE runs SET changed = ?, state = 'running', attempt = ?, due_at = ?, lease_token = ?, leased_by = ?, leased_at = ?,
			started_at = ?, send_before = ?, waits_for = NULL
		WHERE id = ?`,
		t.change, s.Attempt, s.LeasedUntil.UnixMicro(), h.token, h.owner, t.now,
		s.StartedAt.UnixMicro(), s.SendBefore.UnixMicro(), s.key)
	return s.work(), err
}

// keepLostAttempt adds the attempt of an expired lease to the history: it may have
// been sent.
func (t *tx) keepLostAttempt(s stored) error {
	return t.attempt(ledger.Attempt{
		RunID: s.ID, N: s.Attempt, StartedAt: s.leasedAt, FinishedAt: t.clock(), Answer: ledger.AnswerLost, Owner: s.holder,
	})
}

// makeDead makes a run dead that is past its SendBefore: the target may have forgotten
// its key.
func (t *tx) makeDead(s stored) (ledger.Run, error) {
	_, err := t.exec(`
		UPDATE runs SET changed = ?, state = 'dead', reason = ?, due_at = NULL, slot = NULL, waits_for = NULL, lease_token = NULL, finished_at = ?
		WHERE id = ?`, t.change, string(ledger.ReasonKeyExpired), t.now, s.key)
	s.State, s.Reason, s.FinishedAt = ledger.Dead, ledger.ReasonKeyExpired, t.clock()
	s.LeasedBy, s.LeasedUntil, s.NextAt, s.WaitReason = "", time.Time{}, time.Time{}, ledger.WaitReason{}
	return s.Run, err
}

// array is a list as json_each takes it.
func array(list []string) string {
	if len(list) == 0 {
		return `[]`
	}
	b, err := json.Marshal(list)
	if err != nil {
		panic(err) // strings cannot fail
	}
	return string(b)
}
