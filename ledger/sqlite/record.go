package sqlite

import (
	"context"
	"fmt"

	"github.com/cronce/cronce/ledger"
)

// Record writes outcomes, each fenced by its lease's token, in one
// transaction, and returns a result for each, in order.
func (l *Ledger) Record(ctx context.Context, outcomes []ledger.Outcome) (fates []ledger.RecordResult, err error) {
	if len(outcomes) == 0 {
		return nil, nil
	}
	err = l.write(ctx, func(t *tx) error {
		fates = make([]ledger.RecordResult, 0, len(outcomes))
		var freed []string
		var ended ledger.Ended
		for _, o := range outcomes {
			fate, written, err := t.record(o)
			if err != nil {
				return fmt.Errorf("%s: %w", o.RunID, err)
			}
			fates = append(fates, fate)
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
		return t.freed(freed)
	})
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	return fates, nil
}

func (t *tx) record(o ledger.Outcome) (result ledger.RecordResult, written bool, err error) {
	changed, err := t.settle(o)
	if err != nil {
		return "", false, err
	}
	if changed == 0 {
		result, err = t.fate(o.Lease)
		return result, false, err
	}
	if o.Attempt.N > 1 {
		o.Attempt.RunID = o.RunID
		err = t.attempt(o.Attempt)
	}
	return ledger.Recorded, true, err
}

// settle moves the run if its lease is still held. The token stays in the row;
// so does the first attempt.
func (t *tx) settle(o ledger.Outcome) (changed int64, err error) {
	switch o.State {
	case ledger.Succeeded, ledger.Dead:
		return t.exec(`
			UPDATE runs SET changed = `+nextChange+`, state = ?12, reason = ?13, replayed = ?14, failures = ?15, due_at = NULL, slot = NULL, finished_at = ?16,`+answered+`
			WHERE run_id = ?1 AND lease_token = ?2 AND state = 'running'`,
			append(answer(o), string(o.State), string(o.Reason), o.Replayed, o.Failures, t.now)...)
	case ledger.Retrying:
		return t.exec(`
			UPDATE runs SET changed = `+nextChange+`, state = 'retrying', failures = ?12, due_at = ?13,`+answered+`
			WHERE run_id = ?1 AND lease_token = ?2 AND state = 'running'`,
			append(answer(o), o.Failures, t.now+o.Wait.Microseconds())...)
	case ledger.Accepted:
		return t.exec(`
			UPDATE runs SET changed = `+nextChange+`, state = 'accepted', failures = ?12, due_at = ?13, attempt = attempt - ?14,
				accepted_at = coalesce(accepted_at, ?15), progress = coalesce(nullif(?16, ''), progress),`+answered+`
			WHERE run_id = ?1 AND lease_token = ?2 AND state = 'running'`,
			append(answer(o), o.Failures, t.now+o.Wait.Microseconds(), o.Attempt.N == 0, t.now, ledger.KeptProgress(o.Progress))...)
	case ledger.Planned:
		return t.exec(`
			UPDATE runs SET changed = `+nextChange+`, state = 'planned', attempt = attempt - 1, due_at = ?3, waits_for = nullif(?4, '')
			WHERE run_id = ?1 AND lease_token = ?2 AND state = 'running'`,
			o.RunID, o.Token, t.now+o.Wait.Microseconds(), o.WaitsFor.Kept().String())
	default:
		return 0, fmt.Errorf("invalid outcome %q; valid outcomes: succeeded, retrying, accepted, dead, planned", o.State)
	}
}

// answered sets what an attempt leaves in the run's row; NULL changes nothing.
const answered = `
	status = coalesce(?3, status), first_started_at = coalesce(?4, first_started_at),
	first_finished_at = coalesce(?5, first_finished_at), first_answer = coalesce(?6, first_answer),
	first_status = coalesce(?7, first_status), first_code = coalesce(?8, first_code), first_error = coalesce(?9, first_error),
	first_detail = coalesce(?10, first_detail), first_owner = coalesce(?11, first_owner)`

// answer is the lease and the attempt of an outcome, as ?1 to ?11.
func answer(o ledger.Outcome) []any {
	a := o.Attempt
	args := append(make([]any, 0, 16), o.RunID, o.Token)
	switch a.N {
	case 0:
		return append(args, nil, nil, nil, nil, nil, nil, nil, nil, nil)
	case 1:
		return append(args, a.Status, micros(a.StartedAt), micros(a.FinishedAt), string(a.Answer), a.Status, a.Code, a.Error, a.Detail, a.Owner)
	default:
		return append(args, a.Status, nil, nil, nil, nil, nil, nil, nil, nil)
	}
}

// fate tells a repeated record from one whose lease was lost: a lease's token
// stays in the row until the next lease or a cancel.
func (t *tx) fate(l ledger.Lease) (ledger.RecordResult, error) {
	known, err := t.one(`SELECT 1 FROM runs WHERE run_id = ? AND lease_token = ?`, []any{l.RunID, l.Token}, new(int))
	if known {
		return ledger.Recorded, err
	}
	return ledger.Fenced, err
}

// attempt adds to a run's history what its row does not hold.
func (t *tx) attempt(a ledger.Attempt) error {
	_, err := t.exec(`
		INSERT INTO attempts (run, n, started_at, finished_at, answer, status, code, error, detail, owner)
		SELECT id, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM runs WHERE run_id = ?
		ON CONFLICT (run, n) DO NOTHING`,
		a.N, micros(a.StartedAt), micros(a.FinishedAt), string(a.Answer), a.Status, a.Code, a.Error, a.Detail, a.Owner, a.RunID)
	return err
}
