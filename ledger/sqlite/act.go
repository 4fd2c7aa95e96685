package sqlite

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

// Cancel takes unfinished runs out and gives their slots back. See ledger.Act.
func (l *Ledger) Cancel(ctx context.Context, a ledger.Act) (ledger.Acted, error) {
	return l.act(ctx, a, "cancel", []ledger.State{ledger.Planned, ledger.Running, ledger.Retrying},
		func(t *tx, rows []stored, out *ledger.Acted) error {
			var freed []string
			for _, s := range rows {
				if err := t.cancel(s, a); err != nil {
					return err
				}
				freed = append(freed, s.ID)
			}
			return t.freed(freed)
		})
}

// cancel forgets the token, so that the holder's record is refused.
func (t *tx) cancel(s stored, a ledger.Act) error {
	if s.State == ledger.Running {
		if err := t.lost(s); err != nil {
			return err
		}
	}
	_, err := t.exec(`
		UPDATE runs SET state = 'canceled', reason = ?, due_at = NULL, slot = NULL, waiting = 0,
			lease_token = NULL, finished_at = ?, by = ?, why = ?
		WHERE id = ?`, string(ledger.ByHand), t.now, a.By, a.Why, s.key)
	return err
}

// Redrive asks dead runs' targets again, under the same keys. See ledger.Act.
func (l *Ledger) Redrive(ctx context.Context, a ledger.Act) (ledger.Acted, error) {
	return l.act(ctx, a, "redrive", []ledger.State{ledger.Dead},
		func(t *tx, rows []stored, out *ledger.Acted) error {
			others := map[string]string{} // by job: an unfinished run from before this act
			for _, s := range rows {
				why, err := t.redrive(s, a, others)
				if err != nil {
					return err
				}
				if why != "" {
					out.Refused = append(out.Refused, ledger.Rejection{RunID: s.ID, Why: why})
				}
			}
			return nil
		})
}

func (t *tx) redrive(s stored, a ledger.Act, others map[string]string) (refused string, err error) {
	if s.SendBefore.UnixMicro() <= t.now {
		return "its key may be forgotten since " + s.SendBefore.Format(time.RFC3339) + ": rerun it with a new key", nil
	}
	other, known := others[s.JobID]
	if !known {
		if other, err = t.unfinished(s.JobID); err != nil {
			return "", err
		}
		others[s.JobID] = other
	}
	if other != "" && !a.Force {
		return other + " of the same job is unfinished: wait for it, or force", nil
	}
	_, err = t.exec(`
		UPDATE runs SET state = 'retrying', reason = '', failures = 0, due_at = ?2, finished_at = NULL, acked_at = NULL,
			by = ?3, why = ?4
		WHERE id = ?1`, s.key, t.now, a.By, a.Why)
	if err != nil || s.overlap == "" {
		return "", err
	}
	return "", t.rejoin(s, a.Force)
}

// rejoin gives a redriven run its job's slot again; where that is taken the
// run waits for it, or goes on without when forced.
func (t *tx) rejoin(s stored, force bool) error {
	n, err := t.exec(`
		UPDATE runs SET slot = job_id WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM runs WHERE slot = ?2)`, s.key, s.JobID)
	if err != nil || n > 0 || force {
		return err
	}
	_, err = t.exec(`UPDATE runs SET waiting = 1 WHERE id = ?`, s.key)
	return err
}

// unfinished names an unfinished run of the job, if it has one. It looks
// through what is unfinished of all jobs; an index by job would cost every run
// two writes.
func (t *tx) unfinished(jobID string) (runID string, err error) {
	_, err = t.one(`
		SELECT run_id FROM runs WHERE due_at IS NOT NULL AND waiting = 0 AND job_id = ?1
		UNION ALL
		SELECT run_id FROM runs WHERE waiting = 1 AND job_id = ?1
		LIMIT 1`, []any{jobID}, &runID)
	return runID, err
}

// Ack marks dead runs as seen. See ledger.Act.
func (l *Ledger) Ack(ctx context.Context, a ledger.Act) (ledger.Acted, error) {
	if len(a.IDs) == 0 {
		a.Unacked = true
	}
	return l.act(ctx, a, "acknowledge", []ledger.State{ledger.Dead},
		func(t *tx, rows []stored, out *ledger.Acted) error {
			for _, s := range rows {
				_, err := t.exec(`UPDATE runs SET acked_at = ?, by = ?, why = ? WHERE id = ? AND acked_at IS NULL`,
					t.now, a.By, a.Why, s.key)
				if err != nil {
					return err
				}
			}
			return nil
		})
}

// act runs do on the selected runs that are in a state it moves, refuses the
// others, and reports as changed what do did not refuse.
func (l *Ledger) act(ctx context.Context, a ledger.Act, verb string, from []ledger.State,
	do func(*tx, []stored, *ledger.Acted) error) (out ledger.Acted, err error) {
	err = l.write(ctx, func(t *tx) error {
		out = ledger.Acted{}
		rows, err := t.selected(a.Filter, verb, from, &out)
		if err != nil {
			return err
		}
		if err := do(t, rows, &out); err != nil {
			return err
		}
		return t.changed(rows, &out)
	})
	if err != nil {
		return ledger.Acted{}, fmt.Errorf("%s: %w", verb, err)
	}
	return out, nil
}

// selected returns the filter's runs in the states, oldest first. Runs that
// were asked for by id and are not among them are refused.
func (t *tx) selected(f ledger.Filter, verb string, from []ledger.State, out *ledger.Acted) ([]stored, error) {
	ids := f.IDs
	if len(ids) == 0 {
		f.States = among(from, f.States)
	}
	q, args := selectRuns(f, `ASC`)
	rows, err := all(t, scanRun, q, args...)
	if err != nil || len(ids) == 0 {
		return rows, err
	}
	found := map[string]bool{}
	var fit []stored
	for _, s := range rows {
		found[s.ID] = true
		if slices.Contains(from, s.State) {
			fit = append(fit, s)
			continue
		}
		out.Refused = append(out.Refused, ledger.Rejection{RunID: s.ID, Why: fmt.Sprintf("it is %s: nothing to %s", s.State, verb)})
	}
	for _, id := range ids {
		if !found[id] {
			out.Refused = append(out.Refused, ledger.Rejection{RunID: id, Why: "there is no such run in the selection"})
			found[id] = true
		}
	}
	return fit, nil
}

// among is what of the states an operator asked for an act can move; all that
// it can when none was asked for.
func among(from, asked []ledger.State) []ledger.State {
	if len(asked) == 0 {
		return from
	}
	both := []ledger.State{}
	for _, s := range asked {
		if slices.Contains(from, s) {
			both = append(both, s)
		}
	}
	if len(both) == 0 {
		return []ledger.State{""} // which no run has
	}
	return both
}

// changed reads the runs that were not refused as they are now.
func (t *tx) changed(rows []stored, out *ledger.Acted) error {
	refused := map[string]bool{}
	for _, r := range out.Refused {
		refused[r.RunID] = true
	}
	for _, s := range rows {
		if refused[s.ID] {
			continue
		}
		now, _, err := t.run(s.ID)
		if err != nil {
			return err
		}
		out.Changed = append(out.Changed, now.Run)
	}
	return nil
}
