package sqltx

import (
	"github.com/cronce/cronce/ledger"
)

func (t Tx) Runs(f ledger.Filter) ledger.Future[[]ledger.Row] { return t.filtered(f, "ASC") }

func (t Tx) Newest(f ledger.Filter) ledger.Future[[]ledger.Row] { return t.filtered(f, "DESC") }

func (t Tx) filtered(f ledger.Filter, direction string) ledger.Future[[]ledger.Row] {
	s := t.Dialect.Runs(f)
	text := s.Text(Columns(t.Dialect, false), `runs`, t.Dialect.Order(f, direction), f.Limit) // adds an argument
	return list(t, new(RowReader).Row, Query{Text: text, Args: s.Args, Varies: len(f.IDs) == 0})
}

// Groups takes the newest and oldest run of a group by their IDs, which are in the order of time.
func (t Tx) Groups(f ledger.Filter) ledger.Future[[]ledger.RunGroup] {
	s := t.Dialect.Runs(f)
	newest := s.Text(`job_id, target, state, reason, status, count, run_id, scheduled_at, finished_at, fan,
		coalesce(key_safe_until, send_before) AS safe`, `runs`, t.Dialect.Order(f, "DESC"), f.Limit) // adds an argument
	return list(t, func(v Values) (g ledger.RunGroup, err error) {
		g.JobID, g.Target, g.State, g.Reason, g.Status = v.Text(), v.Text(), ledger.State(v.Text()), ledger.Reason(v.Text()), int(v.Int())
		g.Rows, g.Count = int(v.Int()), int(v.Int())
		g.Newest.ID, g.Newest.ScheduledAt, g.Oldest.ID, g.Oldest.ScheduledAt = v.Text(), v.Time(), v.Text(), v.Time()
		g.First, g.Last, g.KeySafeUntil, g.KeyAlways = v.Time(), v.Time(), v.Time(), v.Int() != 0
		return g, nil
	}, Query{Varies: true, Args: s.Args, Text: `
		SELECT job_id, target, state, reason, status, count(*), CAST(sum(count) AS bigint), max(run_id), max(scheduled_at), min(run_id),
			min(scheduled_at), min(finished_at), max(finished_at), max(safe), max(CASE WHEN safe IS NULL OR fan <> '' THEN 1 ELSE 0 END)
		FROM (` + newest + `) newest GROUP BY job_id, target, state, reason, status`})
}

func (t Tx) CountRuns(f ledger.Filter) ledger.Future[int] {
	where := t.Dialect.Runs(f)
	return one(t, Count, Query{Text: `SELECT count(*) FROM runs WHERE ` + where.Where(), Args: where.Args, Varies: true})
}

func (t Tx) AckedOrRerun(f ledger.Filter) ledger.Future[[]ledger.AckedOrRerunCount] {
	where := t.Dialect.Runs(f)
	return list(t, func(v Values) (c ledger.AckedOrRerunCount, err error) {
		c.Acknowledged, c.Rerun, c.Count = v.Bool(), v.Bool(), int(v.Int())
		return c, nil
	}, Query{Varies: true, Args: where.Args, Text: `SELECT acked_at IS NOT NULL, rerun_id <> '', count(*) FROM runs
		WHERE (acked_at IS NOT NULL OR rerun_id <> '') AND ` + where.Where() + ` GROUP BY 1, 2`})
}

// ReadAttempt reads the columns of an attempt, in the order of its fields.
func ReadAttempt(v Values) (a ledger.Attempt, err error) {
	a.RunID, a.N, a.StartedAt, a.FinishedAt, a.Answer = v.Text(), int(v.Int()), v.Time(), v.Time(), ledger.AnswerKind(v.Text())
	a.Status, a.Code, a.Error, a.Detail, a.Process = int(v.Int()), v.Text(), v.Text(), v.Text(), v.Text()
	return a, nil
}

func (t Tx) Excerpts(runID string) ledger.Future[[]ledger.Excerpt] {
	return List(t, func(v Values) (ledger.Excerpt, error) {
		return ledger.Excerpt{RunID: v.Text(), N: int(v.Int()), Text: v.Text(), KeepUntil: v.Time()}, nil
	}, `SELECT run_id, n, text, keep_until FROM excerpts WHERE run_id = $1`, runID)
}

// PutExcerpts writes excerpts. They are few.
func (t Tx) PutExcerpts(list []ledger.Excerpt) error {
	for _, e := range list {
		if err := t.Engine.Exec(`
			INSERT INTO excerpts (run_id, n, text, keep_until) VALUES ($1, $2, $3, $4)
			ON CONFLICT (run_id, n) DO UPDATE SET text = excluded.text, keep_until = excluded.keep_until`,
			e.RunID, e.N, e.Text, e.KeepUntil); err != nil {
			return err
		}
	}
	return nil
}

// SummaryColumns are the columns that ReadSummary reads.
const SummaryColumns = ` run_id, scheduled_at, until, count, state, reason, replayed, started_at, finished_at `

// ReadSummary reads a row of SummaryColumns.
func ReadSummary(v Values) (c ledger.RunSummary, err error) {
	c.RunID, c.ScheduledAt, c.Until, c.Count, c.State = v.Text(), v.Time(), v.Time(), int(v.Int()), ledger.State(v.Text())
	c.Reason, c.Replayed, c.StartedAt, c.FinishedAt = ledger.Reason(v.Text()), v.Bool(), v.Time(), v.Time()
	return c, nil
}

// Definitions returns the definitions of a job, the latest first declaration first.
func (t Tx) Definitions(jobID string, limit int) ledger.Future[[]ledger.DeclaredDefinition] {
	return List(t, func(v Values) (d ledger.DeclaredDefinition, err error) {
		d.JobID, d.Hash, d.Body, d.At = v.Text(), v.Text(), v.Bytes(), v.Time()
		return d, nil
	}, `SELECT job_id, hash, body, first_declared_at FROM definitions WHERE job_id = $1 ORDER BY `+t.Dialect.NewestDefinition+` LIMIT 0 + $2`,
		jobID, limit)
}

// Events returns a job's events, the newest recorded first.
func (t Tx) Events(jobID string, limit int) ledger.Future[[]ledger.Event] {
	return List(t, func(v Values) (e ledger.Event, err error) {
		e.JobID, e.At, e.Kind, e.Local, e.Zone = v.Text(), v.Time(), ledger.EventKind(v.Text()), v.Text(), v.Text()
		return e, nil
	}, `SELECT job_id, at, kind, local, zone FROM events WHERE job_id = $1 ORDER BY id DESC LIMIT 0 + $2`, jobID, limit)
}

// ReadGivenBack reads a target, and the run, time and code of what it is held back for.
func ReadGivenBack(v Values) (ledger.GivenBack, error) {
	return ledger.GivenBack{Target: v.Text(), RunID: v.Text(), Until: v.Time(), Why: ledger.ParseWaitReason(v.Text())}, nil
}

func (t Tx) CountByJob(state ledger.State, jobIDs []string) ledger.Future[map[string]int] {
	if len(jobIDs) == 0 { // it would read all that is unfinished
		return ledger.Future[map[string]int]{}
	}
	key := `coalesce(parent, ` + t.Dialect.RegistryJobID + `)`
	return Counts(t, `SELECT `+key+`, count(*) FROM runs
		WHERE `+t.Dialect.Leasable+` AND state = $1 AND `+key+` `+t.Dialect.In("$2")+` GROUP BY 1`, string(state), jobIDs)
}

// UnacknowledgedRun is the condition of the index of unacknowledged dead runs.
const UnacknowledgedRun = `state = '` + string(ledger.Dead) + `' AND acked_at IS NULL AND parent IS NULL`

// GivenBackRun is the condition of the index of runs that were given back for a cause of the
// target.
const GivenBackRun = `due_at IS NOT NULL AND substr(waits_for, 1, 8) <> '` + string(ledger.WaitNotSent) + `'`

// ReadCounts reads the unacknowledged dead runs, the open incidents, PlannedThrough and OldestDue.
func ReadCounts(v Values) (c ledger.Counts, err error) {
	c.DeadUnacknowledged, c.Incidents, c.PlannedThrough, c.OldestDue = int(v.Int()), int(v.Int()), v.Time(), v.Time()
	return c, nil
}

// WithStates adds the unfinished runs of each state to counts.
func WithStates(counts ledger.Future[ledger.Counts], byState ledger.Future[map[string]int]) ledger.Future[ledger.Counts] {
	return ledger.LazyFuture(func() (ledger.Counts, error) {
		unfinished, err := byState.Get()
		if err != nil {
			return ledger.Counts{}, err
		}
		c, err := counts.Get()
		c.Unfinished = make(map[ledger.State]int, len(unfinished))
		for state, n := range unfinished {
			c.Unfinished[ledger.State(state)] = n
		}
		return c, err
	})
}
