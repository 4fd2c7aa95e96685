package postgres

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/cronce/cronce/ledger"
)

// Runs returns the rows that a query selects. It locks them in the order of their IDs,
// and then returns them in the order that the query asks for.
func (t *tx) Runs(q ledger.RunQuery) ([]ledger.Row, error) {
	s := runsQuery(q)
	if q.Lock {
		s.sql += ` ORDER BY r.run_id FOR UPDATE`
	}
	list, err := ask(t, s, new(rowReader).row)
	if !q.Lock {
		return list, err
	}
	slices.SortFunc(list, func(a, b ledger.Row) int {
		switch byTime := cmp.Or(a.ScheduledAt.Compare(b.ScheduledAt), cmp.Compare(a.ID, b.ID)); {
		case !q.LateBy.IsZero():
			return cmp.Or(a.LateAt.Compare(b.LateAt), cmp.Compare(a.ID, b.ID))
		case q.Oldest:
			return byTime
		default:
			return -byTime
		}
	})
	return list, err
}

// runsQuery returns the query; one that locks has no order yet.
func runsQuery(q ledger.RunQuery) (s query) {
	columns := rowColumnsNil
	if q.Body || q.Token != "" {
		columns = rowColumns
	}
	s.sql = `SELECT ` + columns + ` FROM runs r WHERE `
	switch {
	case q.Token != "":
		s.args.text(q.Token)
		s.args.texts(texts(q.States))
		s.sql += `r.due_at IS NOT NULL AND NOT r.waiting AND r.lease_token = $1 AND r.state = ANY ($2) ORDER BY r.scheduled_at, r.run_id`
	case len(q.SlotOf) > 0:
		s.args.texts(q.SlotOf)
		s.sql += `r.slot = ANY ($1)`
	case !q.LateBy.IsZero():
		s.args.time(q.LateBy)
		s.args.int8(int64(q.Limit))
		const late = `late_at <= $1 AND late_at IS NOT NULL AND due_at IS NOT NULL`
		s.sql += late + ` AND r.run_id = ANY (ARRAY(SELECT run_id FROM runs WHERE ` + late + ` ORDER BY late_at, run_id LIMIT $2))`
		if !q.Lock {
			s.sql += ` ORDER BY r.late_at, r.run_id`
		}
	default:
		where, args := conditions(q.Filter)
		s.sql += where
		for _, a := range args {
			s.args.any(a)
		}
		s.once = len(q.IDs) == 0
		if q.Lock {
			break
		}
		direction := "DESC"
		if q.Oldest {
			direction = "ASC"
		}
		s.sql += ` ORDER BY ` + order(q.Filter, direction)
		if q.Limit > 0 {
			s.args.int8(int64(q.Limit))
			s.sql += ` LIMIT $` + strconv.Itoa(len(s.args.values))
		}
	}
	return s
}

// dueSQL skips the runs that another claim has locked. $5 says to look for slots to give
// first. If there are any, nothing is claimed: the oldest run goes first.
const dueSQL = `
	WITH RECURSIVE ` + freeSlots + `
	SELECT ` + rowColumns + ` FROM runs r
	WHERE r.due_at <= now() AND r.due_at IS NOT NULL AND NOT r.waiting
		AND r.target <> ALL ($2) AND r.job_id <> ALL ($3) AND ($4::text[] IS NULL OR r.run_id = ANY ($4))
		AND (NOT $5 OR NOT EXISTS (SELECT FROM free))
	ORDER BY r.due_at
	LIMIT $1
	FOR UPDATE OF r SKIP LOCKED`

// Due locks and returns due runs, or first returns the jobs that have slots to give.
func (t *tx) Due(q ledger.DueQuery) (due ledger.Due, err error) {
	if !q.Granted {
		t.p.add(query{sql: `WITH RECURSIVE ` + freeSlots + ` SELECT job_id FROM free`, row: func(v *values) error {
			due.Free = append(due.Free, v.text())
			return nil
		}})
	}
	next := query{sql: `SELECT min(due_at) FROM runs WHERE due_at > now() AND NOT waiting`, row: func(v *values) error {
		due.Next = v.time()
		return nil
	}}
	if len(q.Only) > 0 {
		next.sql += ` AND run_id = ANY ($1)`
		next.args.texts(q.Only)
	}
	t.p.add(next)
	if q.Limit < 1 {
		return due, t.p.flush()
	}
	s := query{sql: dueSQL}
	s.args.int8(int64(q.Limit))
	s.args.texts(q.BusyTargets)
	s.args.texts(q.BusyJobs)
	if len(q.Only) > 0 {
		s.args.texts(q.Only)
	} else {
		s.args.values, s.args.oids = append(s.args.values, nil), append(s.args.oids, textKind.array)
	}
	s.args.bool(!q.Granted)
	due.Runs, err = ask(t, s, new(rowReader).row)
	return due, err
}

// Free returns the oldest waiting run of each of the jobs whose slot is free.
func (t *tx) Free(jobIDs []string) ([]ledger.Row, error) {
	q := query{sql: `
		SELECT ` + rowColumnsNil + ` FROM unnest($1) AS j (id) CROSS JOIN LATERAL (
			SELECT * FROM runs w WHERE w.waiting AND w.job_id = j.id ORDER BY w.scheduled_at, w.run_id LIMIT 1
		) r WHERE NOT EXISTS (SELECT FROM runs h WHERE h.slot = j.id)`}
	q.args.texts(jobIDs)
	return ask(t, q, new(rowReader).row)
}

// Unfinished lists the unfinished runs of jobs. It reads the unfinished runs of all jobs;
// an index by job would cost every run two writes.
func (t *tx) Unfinished(jobIDs []string) (map[string][]string, error) {
	q := query{sql: `
		SELECT r.job_id, r.run_id FROM runs r WHERE r.waiting AND r.job_id = ANY ($1)
		UNION ALL
		SELECT r.job_id, r.run_id FROM runs r WHERE r.due_at IS NOT NULL AND NOT r.waiting AND r.job_id = ANY ($1)`}
	q.args.texts(jobIDs)
	byJob := map[string][]string{}
	_, err := ask(t, q, func(v *values) (struct{}, error) {
		job := v.text()
		byJob[job] = append(byJob[job], v.text())
		return struct{}{}, nil
	})
	return byJob, err
}

// Ranges returns the range rows in which a scheduled time of an interval lies, the oldest
// first.
func (t *tx) Ranges(jobID string, first, last time.Time, lock bool) ([]ledger.Row, error) {
	q := query{sql: `
		SELECT ` + rowColumns + ` FROM runs r
		WHERE r.until IS NOT NULL AND r.job_id = $1 AND r.scheduled_at <= $3 AND r.until >= $2`}
	q.args.text(jobID)
	q.args.time(first)
	q.args.time(last)
	if q.sql += ` ORDER BY r.run_id`; lock { // which begins with the job and the first time
		q.sql += ` FOR UPDATE`
	}
	return ask(t, q, new(rowReader).row)
}

// Own counts the scheduled times of an interval that have rows of their own.
func (t *tx) Own(jobID string, first, last time.Time) (int, error) {
	from, below := ledger.RunIDRange(jobID, first, last)
	q := query{sql: `
		SELECT count(*) FROM runs r
		WHERE r.run_id >= $1 AND r.run_id < $2 AND r.scheduled_at BETWEEN $3 AND $4 AND r.until IS NULL AND strpos(r.run_id, '~') = 0`}
	q.args.text(from)
	q.args.text(below)
	q.args.time(first)
	q.args.time(last)
	counts, err := ask(t, q, func(v *values) (int, error) { return int(v.int()), nil })
	if err != nil {
		return 0, err
	}
	return counts[0], nil
}

// Settled counts the runs of a filter that are acknowledged or were rerun.
func (t *tx) Settled(f ledger.Filter) ([]ledger.SettledCount, error) {
	where, args := conditions(f)
	q := query{once: true, sql: `
		SELECT r.acked_at IS NOT NULL, r.rerun_id <> '', count(*) FROM runs r
		WHERE (r.acked_at IS NOT NULL OR r.rerun_id <> '') AND ` + where + ` GROUP BY 1, 2`}
	for _, a := range args {
		q.args.any(a)
	}
	return ask(t, q, func(v *values) (c ledger.SettledCount, err error) {
		c.Acknowledged, c.Rerun, c.Count = v.bool(), v.bool(), int(v.int())
		return c, nil
	})
}
