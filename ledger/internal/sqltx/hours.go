package sqltx

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

func (t Tx) HourSpan() ledger.Future[ledger.HourSpan] {
	return One(t, func(v Values) (ledger.HourSpan, error) {
		return ledger.HourSpan{From: v.Time(), To: v.Time()}, nil
	}, `SELECT counted_from, counted_to FROM hour_span`+t.Lock)
}

func (t Tx) PutHourSpan(s ledger.HourSpan) error {
	return t.Engine.Exec(`UPDATE hour_span SET counted_from = $1, counted_to = $2`, s.From, s.To)
}

func (t Tx) Slowdowns() ledger.Future[string] { return One(t, Text, `SELECT slowdowns FROM hour_span`) }

func (t Tx) PutSlowdowns(text string) error {
	return t.Engine.Exec(`UPDATE hour_span SET slowdowns = $1`, text)
}

// HourColumns are the columns that ReadHour reads.
const HourColumns = ` hours.hour, hours.job_id, hours.counts, hours.stale, hours.kept `

// ReadHour reads a row of HourColumns.
func ReadHour(v Values) (h ledger.HourRow, err error) {
	h.Hour, h.JobID, h.Counts, h.Stale, h.Purged = v.Time(), v.Text(), v.Text(), v.Bool(), v.Bool()
	return h, nil
}

// ReadHourSum reads an hour, counts and the number of rows that have them.
func ReadHourSum(v Values) (ledger.HourSum, error) {
	return ledger.HourSum{Hour: v.Time(), Counts: v.Text(), Rows: int(v.Int())}, nil
}

func (t Tx) HoursIn(since, until time.Time, stale bool, limit int) ledger.Future[[]ledger.HourRow] {
	text, args := `SELECT`+HourColumns+`FROM hours WHERE hour >= $1 AND hour < $2`, []any{since, until}
	if stale {
		text += ` AND ` + t.Dialect.Stale
	}
	text += ` ORDER BY hour, job_id`
	if limit > 0 {
		text, args = text+` LIMIT 0 + $3`, append(args, limit)
	}
	return List(t, ReadHour, text+t.Lock, args...)
}

// TallyText returns the statement of Tally.
func (t Tx) TallyText(q ledger.TallyQuery) (text string, args []any) {
	job, where, args := `''`, `scheduled_at >= $1 AND scheduled_at < $2 AND parent IS NULL`, []any{q.Since, q.Until}
	group := ` GROUP BY 2, 3, 4, 5, 6, 7`
	switch {
	case q.Template:
		where, args = where+` AND `+t.Dialect.RegistryJobID+` = $3`, append(args, q.JobID)
	case q.JobID != "":
		from, below := ledger.RunIDInterval(q.JobID, q.Since, q.Until)
		job, where, args = `job_id`, `run_id >= $1 AND run_id < $2`, []any{from, below}
		group = ` GROUP BY 1, 2, 3, 4, 5, 6, 7`
	case q.ByJob:
		job, group = t.Dialect.RegistryJobID, ` GROUP BY 1, 2, 3, 4, 5, 6, 7`
	}
	counts := t.Dialect.TalliedTimes
	if q.States {
		counts = t.Dialect.TalliedStates
	}
	return `SELECT ` + job + `,` + t.Dialect.TalliedKinds + counts + ` FROM runs WHERE ` + where + group, args
}

// Tally counts runs from their rows.
func (t Tx) Tally(q ledger.TallyQuery) ledger.Future[[]ledger.RunCount] {
	text, args := t.TallyText(q)
	return List(t, readTally, text, args...)
}

// readTally reads the runs of an hour that are alike: the job, the hour in hours since 1970, the
// kind of row, state and trigger, the buckets of lateness and duration, how many runs, and their
// duration in microseconds.
func readTally(v Values) (c ledger.RunCount, err error) {
	c.JobID, c.Hour, c.Kind, c.State = v.Text(), time.Unix(v.Int()*3600, 0).UTC(), ledger.RowKind(v.Int()), ledger.State(v.Text())
	c.Trigger = ledger.Trigger(v.Text())
	c.Late, c.Took, c.Count, c.Sum = int(v.Int()), int(v.Int()), int(v.Int()), time.Duration(v.Int())*time.Microsecond
	return c, nil
}
