package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/ledger"
)

// action is one act in the making: its runs, selected and locked.
type action struct {
	ledger.Act
	from []ledger.State // that the act moves
	tx   pgx.Tx
	now  time.Time
	runs []ledger.Run // oldest first
	got  *ledger.Acted
}

func (a *action) refuse(id, why string) {
	a.got.Refused = append(a.got.Refused, ledger.Rejection{RunID: id, Why: why})
}

// Cancel takes unfinished runs out.
func (l *Ledger) Cancel(ctx context.Context, act ledger.Act) (ledger.Acted, error) {
	from := []ledger.State{ledger.Planned, ledger.Running, ledger.Retrying}
	return l.act(ctx, "cancel", act, from, false, func(ctx context.Context, a *action) error {
		ids := idsOf(a.runs)
		_, err := a.tx.Exec(ctx, `
			INSERT INTO attempts (run_id, n, started_at, finished_at, status, answer, code, error, detail, owner)
			SELECT run_id, attempt, leased_at, now(), 0, 'lost', '', '', '', leased_by
			FROM runs WHERE run_id = ANY ($1::text[]) AND state = 'running'
			ON CONFLICT DO NOTHING`, ids)
		if err != nil {
			return err
		}
		return a.change(ctx, `state = 'canceled', reason = 'operator', finished_at = now(), due_at = NULL,
			slot = NULL, waiting = false, lease_token = '', by = $2, why = $3`, ids, clean(a.By), clean(a.Why))
	})
}

// Ack notes that somebody has seen dead runs.
func (l *Ledger) Ack(ctx context.Context, act ledger.Act) (ledger.Acted, error) {
	if len(act.IDs) == 0 {
		act.Unacked = true
	}
	return l.act(ctx, "ack", act, []ledger.State{ledger.Dead}, false, func(ctx context.Context, a *action) error {
		return a.change(ctx, `acked_at = coalesce(acked_at, now()),
			by = CASE WHEN acked_at IS NULL THEN $2 ELSE by END,
			why = CASE WHEN acked_at IS NULL THEN $3 ELSE why END`, idsOf(a.runs), clean(a.By), clean(a.Why))
	})
}

// act selects runs, locks them (and, if asked to, their jobs first) and does
// one thing to those in the right state.
func (l *Ledger) act(ctx context.Context, doing string, act ledger.Act, from []ledger.State, jobs bool, do func(context.Context, *action) error) (ledger.Acted, error) {
	var got ledger.Acted
	err := l.transact(ctx, doing, func(tx pgx.Tx) error {
		got = ledger.Acted{}
		a := &action{Act: act, from: from, tx: tx, got: &got}
		if err := a.selectRuns(ctx, jobs); err != nil || len(a.runs) == 0 {
			return err
		}
		return do(ctx, a)
	})
	return got, err
}

func (a *action) selectRuns(ctx context.Context, lockJobs bool) error {
	ids, jobs, err := a.matching(ctx)
	if err != nil {
		return err
	}
	known := setOf(ids)
	for _, id := range a.IDs {
		if !known[id] {
			a.refuse(id, "there is no such run, or the other conditions leave it out")
		}
	}
	if lockJobs {
		if _, err := a.tx.Exec(ctx, lockJobsSQL, jobs); err != nil {
			return err
		}
	}
	rows, err := a.tx.Query(ctx, `SELECT `+runColumns+` FROM runs r WHERE r.run_id = ANY ($1::text[]) ORDER BY r.run_id FOR UPDATE`, ids)
	if err != nil {
		return err
	}
	runs, err := pgx.CollectRows(rows, scanRun)
	slices.SortFunc(runs, older)
	for _, r := range runs {
		switch {
		case slices.Contains(a.from, r.State):
			a.runs = append(a.runs, r)
		case len(a.IDs) > 0:
			a.refuse(r.ID, fmt.Sprintf("it is %s; this is for runs that are %s", r.State, strings.Join(texts(a.from), " or ")))
		}
	}
	return err
}

// matching are the ids of the runs that the filter selects, oldest first, and
// the id of each one's job.
func (a *action) matching(ctx context.Context) (ids, jobs []string, err error) {
	if err := a.tx.QueryRow(ctx, `SELECT now()`).Scan(&a.now); err != nil {
		return nil, nil, err
	}
	f := a.Filter
	if len(f.IDs) == 0 {
		f.States = among(f.States, a.from)
	}
	where, args := conditions(f)
	limit := ""
	if f.Limit > 0 {
		args = append(args, f.Limit)
		limit = fmt.Sprintf("LIMIT $%d", len(args))
	}
	rows, err := a.tx.Query(ctx, `SELECT r.run_id, r.job_id FROM runs r WHERE `+where+` ORDER BY `+order(f, "ASC")+` `+limit, args...)
	if err != nil {
		return nil, nil, err
	}
	var id, job string
	_, err = pgx.ForEachRow(rows, []any{&id, &job}, func() error {
		ids, jobs = append(ids, id), append(jobs, job)
		return nil
	})
	return ids, jobs, err
}

// among is the wanted states that an act moves; one that matches nothing where
// there are none.
func among(wanted, from []ledger.State) []ledger.State {
	if len(wanted) == 0 {
		return from
	}
	both := []ledger.State{}
	for _, s := range wanted {
		if slices.Contains(from, s) {
			both = append(both, s)
		}
	}
	if len(both) == 0 {
		return []ledger.State{""}
	}
	return both
}

// change updates the runs in $1 and keeps them as changed, oldest first.
func (a *action) change(ctx context.Context, set string, args ...any) error {
	rows, err := a.tx.Query(ctx, `UPDATE runs r SET `+set+` WHERE r.run_id = ANY ($1::text[]) RETURNING `+runColumns, args...)
	if err != nil {
		return err
	}
	a.got.Changed, err = pgx.CollectRows(rows, scanRun)
	slices.SortFunc(a.got.Changed, older)
	return err
}

func setOf(ids []string) map[string]bool {
	set := make(map[string]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

func idsOf(runs []ledger.Run) []string {
	ids := make([]string, len(runs))
	for i, r := range runs {
		ids[i] = r.ID
	}
	return ids
}

// older orders runs by instant, then id.
func older(a, b ledger.Run) int {
	if c := a.ScheduledAt.Compare(b.ScheduledAt); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}
