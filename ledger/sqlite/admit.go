package sqlite

import (
	"context"
	"fmt"
	"slices"

	"github.com/cronce/cronce/internal/ledgerrules"
	"github.com/cronce/cronce/ledger"
)

// Admit writes the plans that are still current, each as a whole or not at all, in
// one transaction. See ledger.Admission.
func (l *Ledger) Admit(ctx context.Context, a ledger.Admission) (out ledger.Admitted, err error) {
	if err := a.Validate(); err != nil {
		return out, fmt.Errorf("admit: %w", err)
	}
	err = l.write(ctx, func(t *tx) error {
		out = ledger.Admitted{Now: t.clock(), Skipped: map[ledger.Reason]int{}}
		var missed []ledgerrules.Problem
		paused, err := all(t, text, `SELECT job_id FROM jobs WHERE paused_at IS NOT NULL`)
		if err != nil {
			return err
		}
		for _, p := range a.Plans {
			n := newRun{jobID: p.JobID, revision: p.Revision, paused: slices.Contains(paused, p.JobID), holder: holder{a.Owner, a.Token, a.LeaseFor}}
			if err := t.admit(p, n, &out, &missed); err != nil {
				return fmt.Errorf("admit %s: %w", p.JobID, err)
			}
		}
		return t.openIncidents(ledger.IncidentMissed, missed)
	})
	if err != nil {
		return ledger.Admitted{}, err
	}
	return out, nil
}

// admit writes the rows of a plan; n is what they have in common. It adds to missed
// those that were missed.
func (t *tx) admit(p ledger.Plan, n newRun, out *ledger.Admitted, missed *[]ledgerrules.Problem) error {
	ok, err := t.advance(p)
	if err != nil {
		return err
	}
	if !ok {
		pos, err := t.position(p.JobID)
		out.Stale = append(out.Stale, pos)
		return err
	}
	for _, in := range p.Runs {
		n.RunSpec = in
		if err := t.admitOne(n, out, missed); err != nil {
			return err
		}
	}
	for _, e := range p.Events {
		e.JobID = p.JobID
		if err := t.event(e); err != nil {
			return err
		}
	}
	return t.switchRevision(p)
}

// advance moves the watermark if the plan is still current. The write lock is held,
// so nothing that it compares can change before the commit.
func (t *tx) advance(p ledger.Plan) (ok bool, err error) {
	through := p.Through.UnixMicro()
	if through < p.After.UnixMicro() || through > t.now {
		return false, nil
	}
	n, err := t.exec(`
		UPDATE jobs SET watermark = ?4 WHERE job_id = ?1 AND revision = ?2 AND watermark = ?3 AND ended_at IS NULL`,
		p.JobID, p.Revision, p.After.UnixMicro(), through)
	return n > 0, err
}

func (t *tx) position(jobID string) (ledger.Position, error) {
	pos := ledger.Position{JobID: jobID}
	var watermark nullTime
	_, err := t.one(`SELECT revision, watermark FROM jobs WHERE job_id = ?`, []any{jobID}, &pos.Revision, &watermark)
	pos.Watermark = watermark.time()
	return pos, err
}

func (t *tx) admitOne(n newRun, out *ledger.Admitted, missed *[]ledgerrules.Problem) error {
	if !n.Until.IsZero() {
		own, err := t.ownRows(n)
		if n.Count -= own; err != nil || n.Count <= 0 {
			return err
		}
	}
	w, err := t.insert(n)
	if err != nil {
		return err
	}
	if w.work != nil {
		out.Leased = append(out.Leased, *w.work)
	}
	switch {
	case w.inserted && w.state == ledger.Skipped:
		out.Skipped[w.reason]++
	case w.inserted && w.state == ledger.Missed:
		*missed = append(*missed, ledgerrules.Problem{JobID: n.jobID, RunID: n.RunID, Reason: n.Reason, Count: n.Count})
	}
	return nil
}

// ownRows counts the scheduled times in a range that have rows of their own.
func (t *tx) ownRows(n newRun) (own int, err error) {
	from, below := ledgerrules.RunIDRange(n.jobID, n.ScheduledAt, n.Until)
	_, err = t.one(`
		SELECT count(*) FROM runs WHERE run_id >= ? AND run_id < ? AND +scheduled_at BETWEEN ? AND ?
		AND until IS NULL AND instr(run_id, '~') = 0`,
		[]any{from, below, n.ScheduledAt.UnixMicro(), n.Until.UnixMicro()}, &own)
	return own, err
}

// switchRevision ends the plan's revision where the plan says so, and begins the
// next.
func (t *tx) switchRevision(p ledger.Plan) error {
	if p.Next == nil {
		return nil
	}
	if err := t.event(ledger.Event{JobID: p.JobID, At: p.Through, Kind: ledger.EventRevisionEnded}); err != nil {
		return err
	}
	if p.Next.Hash == "" {
		return t.endRevision(p.JobID)
	}
	if _, err := t.exec(`UPDATE jobs SET revision = revision + 1, hash = ? WHERE job_id = ?`, p.Next.Hash, p.JobID); err != nil {
		return err
	}
	if err := t.setDefinition(p.JobID, p.Next.Body); err != nil {
		return err
	}
	return t.event(ledger.Event{JobID: p.JobID, At: p.Through, Kind: ledger.EventRevisionBegun})
}

// endRevision leaves the job without one.
func (t *tx) endRevision(jobID string) error {
	if _, err := t.exec(`UPDATE jobs SET hash = '', ended_at = ? WHERE job_id = ?`, t.now, jobID); err != nil {
		return err
	}
	_, err := t.exec(`DELETE FROM job_bodies WHERE job_id = ?`, jobID)
	return err
}

func (t *tx) event(e ledger.Event) error {
	_, err := t.exec(`INSERT INTO events (job_id, at, kind, local, zone) VALUES (?, ?, ?, ?, ?)`,
		e.JobID, e.At.UnixMicro(), string(e.Kind), e.Local, e.Zone)
	return err
}

// blob is never NULL.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
