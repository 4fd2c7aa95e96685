package sqltx

import (
	"github.com/cronce/cronce/ledger"
)

// The column purged_before has PurgedThrough, which was purged too. It keeps its name: in a
// rolling deploy, processes of the former release read and write it.
const selectJobs = `SELECT job_id, revision, watermark, hash, ended_at, paused_at, paused_by, paused_why, purged_before FROM jobs WHERE `

// ReadJob reads a row of Tx.JobsBy.
func ReadJob(v Values) (j ledger.JobRow, err error) {
	j.JobID, j.Revision, j.Watermark, j.Hash, j.EndedAt = v.Text(), v.Int(), v.Time(), v.Text(), v.Time()
	j.PausedAt, j.PausedBy, j.PausedWhy, j.PurgedThrough = v.Time(), v.Text(), v.Text(), v.Time()
	return j, nil
}

func (t Tx) LockJobs(ids []string) ledger.Future[[]ledger.JobRow] { return t.JobsBy(ReadJob, ids) }

// JobsBy is Jobs, with a function that reads each row.
func (t Tx) JobsBy(read func(Values) (ledger.JobRow, error), ids []string) ledger.Future[[]ledger.JobRow] {
	found := make([]ledger.JobRow, 0, len(ids))
	text := selectJobs + `job_id ` + t.Dialect.In("$1") + ` ORDER BY job_id` + t.Lock
	wait := t.Engine.Query(Query{Text: text, Args: []any{ids}}, func(v Values) error {
		j, err := read(v)
		found = append(found, j)
		return err
	})
	return ledger.LazyFuture(func() ([]ledger.JobRow, error) {
		err := wait()
		return found, err
	})
}

func (t Tx) Jobs(ids []string) ledger.Future[[]ledger.JobRow] {
	t.Lock = ""
	return t.LockJobs(ids)
}

func (t Tx) JobsAfter(after string, limit int) ledger.Future[[]ledger.JobRow] {
	return List(t, ReadJob, selectJobs+`job_id > $1 ORDER BY job_id LIMIT 0 + $2`, after, limit)
}

func (t Tx) JobBodies(ids []string) ledger.Future[map[string][]byte] {
	return ByText(t, Values.Bytes, `SELECT job_id, body FROM `+t.Dialect.Bodies+` WHERE job_id `+t.Dialect.In("$1"), ids)
}

func (t Tx) JobsAndNewest() ledger.Future[[]ledger.JobAndNewest] {
	return List(t, func(v Values) (ledger.JobAndNewest, error) {
		return ledger.JobAndNewest{JobID: v.Text(), Watermark: v.Time(), EndedAt: v.Time(), PausedAt: v.Time(), Newest: ledger.State(v.Text())},
			nil
	}, `SELECT job_id, watermark, ended_at, paused_at, (SELECT state FROM runs WHERE `+OfJob("jobs.job_id")+`
			AND until IS NULL ORDER BY run_id DESC LIMIT 1)
		FROM jobs ORDER BY job_id`)
}

// OfJob returns the condition that a row of runs is of a job: its IDs begin with the job's and @, which
// A follows.
func OfJob(job string) string { return `run_id > ` + job + ` || '@' AND run_id < ` + job + ` || 'A'` }
