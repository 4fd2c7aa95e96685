package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/internal/ledgerrules"
	"github.com/cronce/cronce/ledger"
)

// action is an Action in progress: its runs, selected and locked.
type action struct {
	ledger.Action
	kind    ledger.ActionKind
	from    []ledger.State // that the action moves
	settled ledgerrules.Exclusion
	jobs    bool // locks the jobs' rows first
	// refuse adds to got those of the runs that the action refuses, and returns the
	// others; nil: all.
	refuse func(*action, context.Context, []ledger.Run) ([]ledger.Run, error)
	do     func(*action, context.Context) error

	tx   pgx.Tx
	now  time.Time
	runs []ledger.Run // oldest first
	got  *ledger.ActionResult

	loads map[string]*jobLoad // of a redrive
}

// Cancel moves unfinished runs to canceled. See ledger.Action.
func (l *Ledger) Cancel(ctx context.Context, act ledger.Action) (ledger.ActionResult, error) {
	return l.act(ctx, action{Action: act, kind: ledger.ActionCancel, from: ledger.Unfinished, do: (*action).cancel})
}

func (a *action) cancel(ctx context.Context) error {
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
		slot = NULL, waiting = false, waits_for = NULL, lease_token = '', by = $2, why = $3`, ids, a.By, a.Why)
}

// Ack records that an operator has seen dead runs. See ledger.Action.
func (l *Ledger) Ack(ctx context.Context, act ledger.Action) (ledger.ActionResult, error) {
	from := []ledger.State{ledger.Dead}
	return l.act(ctx, action{Action: act, kind: ledger.ActionAck, from: from, settled: ledgerrules.ExcludedByAck(act), do: (*action).acknowledge})
}

func (a *action) acknowledge(ctx context.Context) error {
	return a.change(ctx, `acked_at = coalesce(acked_at, now()),
		by = CASE WHEN acked_at IS NULL THEN $2 ELSE by END,
		why = CASE WHEN acked_at IS NULL THEN $3 ELSE why END`, idsOf(a.runs), a.By, a.Why)
}

// act selects runs, locks them (and their jobs first, if a.jobs is set), applies
// the action to those in the right state and writes the audit.
func (l *Ledger) act(ctx context.Context, act action) (ledger.ActionResult, error) {
	var got ledger.ActionResult
	if err := act.Actor.Validate(); err != nil {
		return got, translate(string(act.kind), err)
	}
	err := l.transact(ctx, string(act.kind), func(tx pgx.Tx) error {
		got = ledger.ActionResult{LeftOut: map[ledger.RejectionCause]int{}}
		a := act
		a.tx, a.got = tx, &got
		if err := a.leaveOut(ctx); err != nil {
			return err
		}
		if err := a.selectRuns(ctx); err != nil || len(a.runs) == 0 {
			return err
		}
		if a.DryRun {
			got.Changed = a.runs
			return nil
		}
		if err := a.do(&a, ctx); err != nil {
			return err
		}
		return addAudit(ctx, tx, ledger.Audit{Action: a.kind, Actor: a.Actor}, a.altered()...)
	})
	return got, err
}

// altered returns the changed runs except those that were acknowledged before.
func (a *action) altered() (ids []string) {
	for _, r := range a.got.Changed {
		if a.kind != ledger.ActionAck || !r.AckedAt.Before(a.now) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// leaveOut counts the runs that the action leaves out.
func (a *action) leaveOut(ctx context.Context) error {
	if a.settled == (ledgerrules.Exclusion{}) {
		return nil
	}
	f := a.Filter
	f.States = ledgerrules.SelectStates(a.from, f.States)
	where, args := conditions(f)
	rows, err := a.tx.Query(ctx, `
		SELECT r.acked_at IS NOT NULL, r.rerun_id <> '', count(*) FROM runs r
		WHERE (r.acked_at IS NOT NULL OR r.rerun_id <> '') AND `+where+` GROUP BY 1, 2`, args...)
	if err != nil {
		return err
	}
	var acknowledged, rerun bool
	var n int
	_, err = pgx.ForEachRow(rows, []any{&acknowledged, &rerun, &n}, func() error {
		if cause := a.settled.Cause(acknowledged, rerun); cause != "" {
			a.got.LeftOut[cause] += n
		}
		return nil
	})
	return err
}

func (a *action) selectRuns(ctx context.Context) error {
	ids, jobs, err := a.matching(ctx)
	if err != nil {
		return err
	}
	known := setOf(ids)
	for _, id := range a.IDs {
		if !known[id] {
			a.got.Rejected = append(a.got.Rejected, ledgerrules.RejectNotFound(id))
			known[id] = true
		}
	}
	if a.jobs {
		if _, err := a.tx.Exec(ctx, lockJobsSQL, jobs); err != nil {
			return err
		}
	}
	rows, err := a.tx.Query(ctx, `SELECT `+listColumns+` FROM runs r WHERE r.run_id = ANY ($1::text[]) ORDER BY r.run_id FOR UPDATE`, ids)
	if err != nil {
		return err
	}
	runs, err := pgx.CollectRows(rows, scanRun)
	slices.SortFunc(runs, older)
	for _, r := range runs {
		switch {
		case !slices.Contains(a.from, r.State):
			if len(a.IDs) > 0 {
				a.got.Rejected = append(a.got.Rejected, ledgerrules.RejectState(r, a.from))
			}
		case a.settled.Cause(!r.AckedAt.IsZero(), r.RerunID != "") == "": // else settled since it was selected
			a.runs = append(a.runs, r)
		}
	}
	if err != nil || a.refuse == nil || len(a.runs) == 0 {
		return err
	}
	a.runs, err = a.refuse(a, ctx, a.runs)
	return err
}

// matching returns the IDs of the runs that the filter selects, oldest first, and
// the ID of each run's job. Those that it is to refuse leave room for others, and
// are refused before anything is locked: there may be very many.
func (a *action) matching(ctx context.Context) (ids, jobs []string, err error) {
	if err := a.tx.QueryRow(ctx, `SELECT now()`).Scan(&a.now); err != nil {
		return nil, nil, err
	}
	f := a.settled.Apply(a.Filter)
	if len(f.IDs) == 0 {
		f.States = ledgerrules.SelectStates(a.from, f.States)
	} else {
		f.Limit = 0
	}
	limit := f.Limit
	for more := true; more; {
		page, err := a.page(ctx, f)
		if err != nil {
			return nil, nil, err
		}
		fit := page
		if limit > 0 && a.refuse != nil {
			if fit, err = a.refuse(a, ctx, page); err != nil {
				return nil, nil, err
			}
		}
		for _, r := range fit {
			ids, jobs = append(ids, r.ID), append(jobs, r.JobID)
		}
		if more = limit > 0 && len(page) == f.Limit && len(ids) < limit; more {
			last := page[len(page)-1]
			f.Limit, f.After = limit-len(ids), &ledger.Cursor{ScheduledAt: last.ScheduledAt, ID: last.ID}
		}
	}
	return ids, jobs, nil
}

// page reads what refuse needs of the runs that a filter selects, oldest first.
func (a *action) page(ctx context.Context, f ledger.Filter) ([]ledger.Run, error) {
	where, args := conditions(f)
	limit := ""
	if f.Limit > 0 {
		args = append(args, f.Limit)
		limit = fmt.Sprintf("LIMIT $%d", len(args))
	}
	rows, err := a.tx.Query(ctx, `
		SELECT r.run_id, r.job_id, r.scheduled_at, r.send_before, r.rerun_id FROM runs r
		WHERE `+where+` ORDER BY `+order(f, "ASC")+` `+limit, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (r ledger.Run, err error) {
		var before *time.Time
		err = row.Scan(&r.ID, &r.JobID, &r.ScheduledAt, &before, &r.RerunID)
		r.SendBefore = timeOf(before)
		return r, err
	})
}

// change updates the runs in $1 and keeps them as changed, oldest first.
func (a *action) change(ctx context.Context, set string, args ...any) error {
	rows, err := a.tx.Query(ctx, `UPDATE runs r SET changed = DEFAULT, `+set+` WHERE r.run_id = ANY ($1::text[]) RETURNING `+listColumns, args...)
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

// older orders runs by scheduled time, then id.
func older(a, b ledger.Run) int {
	if c := a.ScheduledAt.Compare(b.ScheduledAt); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}
