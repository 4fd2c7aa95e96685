package sqlite

import (
	"context"
	"fmt"

	"github.com/cronce/cronce/internal/ledgerrules"
	"github.com/cronce/cronce/ledger"
)

// Record writes outcomes, each fenced by its lease's token, in one
// transaction, and returns a result for each, in order.
func (l *Ledger) Record(ctx context.Context, outcomes []ledger.Outcome) (results []ledger.RecordResult, err error) {
	if len(outcomes) == 0 {
		return nil, nil
	}
	err = l.write(ctx, func(t *tx) error {
		results = make([]ledger.RecordResult, 0, len(outcomes))
		var freed []string
		var ended ledgerrules.IncidentChanges
		for _, o := range outcomes {
			fate, written, err := t.record(o)
			if err != nil {
				return fmt.Errorf("%s: %w", o.RunID, err)
			}
			results = append(results, fate)
			if written {
				ended.Add(o)
			}
			if fate == ledger.Recorded && o.State.Finished() {
				freed = append(freed, o.RunID)
			}
		}
		if err := t.changeIncidents(ended); err != nil {
			return err
		}
		return t.promoteAfter(freed)
	})
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	return results, nil
}

func (t *tx) record(o ledger.Outcome) (result ledger.RecordResult, written bool, err error) {
	changed, err := t.writeOutcome(o)
	if err != nil {
		return "", false, err
	}
	if changed == 0 {
		result, err = t.repeatedResult(o.Lease)
		return result, false, err
	}
	if o.Attempt.N > 1 {
		o.Attempt.RunID = o.RunID
		err = t.attempt(o.Attempt)
	}
	return ledger.Recorded, true, err
}

// writeOutcome changes the run if its lease is still held. The token and the first
// attempt stay in the row.
func (t *tx) writeOutcome(o ledger.Outcome) (changed int64, err error) {
	switch o.State {
	case ledger.Succeeded, ledger.Dead:
		return t.exec(`
			UPDATE runs SET state = ?13, reason = ?14, replayed = ?15, failures = ?16, due_at = NULL, slot = NULL, finished_at = ?17,`+attemptColumns+`
			WHERE run_id = ?1 AND lease_token = ?2 AND state = 'running'`,
			append(t.outcomeArgs(o), string(o.State), string(o.Reason), o.Replayed, o.Failures, t.now)...)
	case ledger.Retrying:
		return t.exec(`
			UPDATE runs SET state = 'retrying', failures = ?13, due_at = ?14,`+attemptColumns+`
			WHERE run_id = ?1 AND lease_token = ?2 AND state = 'running'`,
			append(t.outcomeArgs(o), o.Failures, t.now+o.Wait.Microseconds())...)
	case ledger.Accepted:
		return t.exec(`
			UPDATE runs SET state = 'accepted', failures = ?13, due_at = ?14, attempt = attempt - ?15,
				accepted_at = coalesce(accepted_at, ?16), progress = coalesce(nullif(?17, ''), progress),`+attemptColumns+`
			WHERE run_id = ?1 AND lease_token = ?2 AND state = 'running'`,
			append(t.outcomeArgs(o), o.Failures, t.now+o.Wait.Microseconds(), o.Attempt.N == 0, t.now, ledger.StorableProgress(o.Progress))...)
	case ledger.Planned:
		return t.exec(`
			UPDATE runs SET changed = ?3, state = 'planned', attempt = attempt - 1, due_at = ?4, waits_for = nullif(?5, '')
			WHERE run_id = ?1 AND lease_token = ?2 AND state = 'running'`,
			o.RunID, o.Token, t.change, t.now+o.Wait.Microseconds(), o.WaitReason.Storable().String())
	default:
		return 0, fmt.Errorf("invalid outcome %q; valid outcomes: succeeded, retrying, accepted, dead, planned", o.State)
	}
}

// attemptColumns sets the columns of an attempt in the run's row; NULL changes nothing.
const attemptColumns = `
	changed = ?3, status = coalesce(?4, status), first_started_at = coalesce(?5, first_started_at),
	first_finished_at = coalesce(?6, first_finished_at), first_answer = coalesce(?7, first_answer),
	first_status = coalesce(?8, first_status), first_code = coalesce(?9, first_code), first_error = coalesce(?10, first_error),
	first_detail = coalesce(?11, first_detail), first_owner = coalesce(?12, first_owner)`

// outcomeArgs returns the lease, the change and the attempt of an outcome, as ?1 to ?12.
func (t *tx) outcomeArgs(o ledger.Outcome) []any {
	a := o.Attempt
	args := append(make([]any, 0, 17), o.RunID, o.Token, t.change)
	switch a.N {
	case 0:
		return append(args, nil, nil, nil, nil, nil, nil, nil, nil, nil)
	case 1:
		return append(args, a.Status, micros(a.StartedAt), micros(a.FinishedAt), string(a.Answer), a.Status, a.Code, a.Error, a.Detail, a.Owner)
	default:
		return append(args, a.Status, nil, nil, nil, nil, nil, nil, nil, nil)
	}
}

// repeatedResult distinguishes a repeated record from a lost lease: a lease's token
// stays in the row until the next lease or a cancel.
func (t *tx) repeatedResult(l ledger.Lease) (ledger.RecordResult, error) {
	known, err := t.one(`SELECT 1 FROM runs WHERE run_id = ? AND lease_token = ?`, []any{l.RunID, l.Token}, new(int))
	if known {
		return ledger.Recorded, err
	}
	return ledger.Fenced, err
}

// attempt adds an attempt to the run's history; the first one is in the run's row.
func (t *tx) attempt(a ledger.Attempt) error {
	_, err := t.exec(`
		INSERT INTO attempts (run, n, started_at, finished_at, answer, status, code, error, detail, owner)
		SELECT id, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM runs WHERE run_id = ?
		ON CONFLICT (run, n) DO NOTHING`,
		a.N, micros(a.StartedAt), micros(a.FinishedAt), string(a.Answer), a.Status, a.Code, a.Error, a.Detail, a.Owner, a.RunID)
	return err
}
