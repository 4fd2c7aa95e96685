// Package sqlfilter writes the filters of listings as SQL, for the engines on databases.
package sqlfilter

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cronce/cronce/ledger"
)

// Dialect has the parts of SQL that engines write differently. A ? stands for what follows.
type Dialect struct {
	Among         string // is in a list of texts or numbers, which is a parameter
	Found         string // is in the result of a query
	RegistryJobID string // of a job_id: ledger.RegistryJobID
	Index         string // a function of two texts: where in the first is the second; 0: it is not
	// NoIndex before a column keeps it from choosing an index.
	NoIndex string
	// The conditions of partial indexes, and columns.
	Leasable, Waiting, Stale string
	TakesSlot, HeartbeatAt   string
	NewestDefinition         string // the order of definitions
	Bodies                   string // the table of the jobs' definitions
	// What a statement of runs counts after their job: see sqltx.Tx.Tally.
	TalliedKinds, TalliedTimes, TalliedStates string
	// Unfinished is implied by unfinished states, and Exceptional by one exceptional state.
	// With them, the indexes of these runs are used.
	Unfinished  string
	Exceptional string
	// Unacknowledged says that the unacknowledged runs of all jobs have an index.
	// DeadUnacknowledged is the condition of unacknowledged dead runs by which no other index is
	// used: another would pass over all acknowledged ones.
	Unacknowledged     bool
	DeadUnacknowledged string
	// ByMembers selects members in one state by the whole key of the index runs_members, so that
	// the index of the IDs is not used, which would pass over those in other states.
	ByMembers bool
}

// In returns the condition after a column that is in a list, which is a parameter.
func (d *Dialect) In(parameter string) string { return strings.Replace(d.Among, "?", parameter, 1) }

// InQuery returns the condition after a column that is in the result of a query.
func (d *Dialect) InQuery(query string) string { return strings.Replace(d.Found, "?", query, 1) }

// Planned returns the condition that a run is none with a ~: ledger.IsAdHoc.
func (d *Dialect) Planned() string { return d.Index + "(run_id, '~') = 0" }

// Select is a statement in the making.
type Select struct {
	*Dialect
	where []string
	Args  []any
}

// Add adds a condition. A ? in it is the next value.
func (s *Select) Add(condition string, values ...any) {
	for _, v := range values {
		s.Args = append(s.Args, v)
		condition = strings.Replace(condition, "?", "$"+strconv.Itoa(len(s.Args)), 1)
	}
	s.where = append(s.where, condition)
}

// Where returns the conditions.
func (s *Select) Where() string {
	if len(s.where) == 0 {
		return "true"
	}
	return strings.Join(s.where, " AND ")
}

// Text returns the statement; a limit below 1 is none. A LIMIT is written as a sum: SQLite
// 3.48 and later prepares a statement again for each new value of a LIMIT that is a parameter
// alone, which costs more than running it.
func (s *Select) Text(columns, from, order string, limit int) string {
	text := "SELECT " + columns + " FROM " + from + " WHERE " + s.Where() + " ORDER BY " + order
	if limit > 0 {
		s.Args = append(s.Args, int64(limit))
		text += " LIMIT 0 + $" + strconv.Itoa(len(s.Args))
	}
	return text
}

// Order returns the order of ScheduledAt, then ID; within a job, it is that of the IDs.
func (d *Dialect) Order(f ledger.Filter, direction string) string {
	if f.Parent != "" && len(f.States) == 1 {
		return "parent " + direction + ", state " + direction + ", run_id " + direction
	}
	if (f.JobID != "" || f.Parent != "") && !d.deadUnacknowledged(f) {
		return "run_id " + direction
	}
	return "scheduled_at " + direction + ", run_id " + direction
}

// Runs returns the conditions of a filter, whatever its limit. Its states are text and no
// parameters: a statement is planned for all values of a parameter, so that an index with
// the runs of some states alone would not be used.
func (d *Dialect) Runs(f ledger.Filter) *Select {
	s := &Select{Dialect: d}
	if len(f.IDs) > 0 {
		s.Add("run_id "+d.Among, f.IDs)
	}
	if f.JobID != "" && d.deadUnacknowledged(f) && d.Unacknowledged {
		s.Add("job_id = ?", f.JobID) // which the index has
	} else if f.JobID != "" {
		from, below := f.IDBounds()
		s.Add("run_id >= ? AND run_id < ?", from, below)
	}
	d.members(s, f)
	if len(f.JobIDs) > 0 {
		s.Add(d.InJobs(f.WithSchedules), f.JobIDs)
	}
	if d.deadUnacknowledged(f) {
		s.Add(d.DeadUnacknowledged)
	} else if len(f.States) > 0 {
		s.Add(StateIn(f.States))
		if !slices.ContainsFunc(f.States, ledger.State.Finished) && f.Parent == "" {
			s.Add(d.Unfinished)
		}
	}
	unseen := d.deadUnacknowledged(f) || d.Unacknowledged && f.Unacknowledged && f.JobID == ""
	if state := f.ExceptionalState(); state != "" && len(f.IDs) == 0 && f.Parent == "" && !unseen {
		s.Add(StateIn([]ledger.State{state}) + d.Exceptional)
	}
	if f.Reason != "" {
		s.Add("reason = ?", string(f.Reason))
	}
	if !f.Since.IsZero() {
		s.Add("scheduled_at >= ?", f.Since)
	}
	if !f.Until.IsZero() {
		s.Add("scheduled_at < ?", f.Until)
	}
	if f.Unacknowledged {
		s.Add("acked_at IS NULL")
	}
	if f.NotRerun {
		s.Add("rerun_id = ''")
	}
	if f.After != nil && f.Parent == "" {
		s.Add("(scheduled_at, run_id) > (?, ?)", f.After.ScheduledAt, f.After.ID)
	}
	if f.Before != nil {
		s.Add("(scheduled_at, run_id) < (?, ?)", f.Before.ScheduledAt, f.Before.ID)
	}
	return s
}

// deadUnacknowledged reports whether the condition DeadUnacknowledged selects the runs.
func (d *Dialect) deadUnacknowledged(f ledger.Filter) bool {
	return d.DeadUnacknowledged != "" && f.Unacknowledged && len(f.States) == 1 && f.States[0] == ledger.Dead &&
		f.Reason == "" && f.Parent == "" && len(f.IDs) == 0
}

// InJobs returns the condition that a job is in a list of texts, which is ?.
func (d *Dialect) InJobs(withSchedules bool) string {
	if withSchedules {
		return d.RegistryJobID + " " + d.Among
	}
	return "job_id " + d.Among
}

// members adds which members the filter selects. The runs of a job's range of IDs are none.
func (d *Dialect) members(s *Select, f ledger.Filter) {
	switch {
	case f.Parent != "":
		after := f.AfterID
		if f.After != nil { // members have one scheduled time
			after = max(after, f.After.ID)
		}
		if d.ByMembers && len(f.States) == 1 {
			s.Add("(parent, state, run_id) > (?, ?, ?) AND (parent, state) <= (?, ?)", f.Parent, string(f.States[0]), after, f.Parent,
				string(f.States[0]))
		} else {
			s.Add("parent = ? AND run_id > ?", f.Parent, after)
		}
		if len(f.States) > 0 && !slices.Contains(f.States, ledger.Succeeded) {
			s.Add(MembersLeft)
		}
	case len(f.IDs) > 0 || f.JobID != "" || f.WithMembers:
	case d.Unacknowledged && f.Unacknowledged: // so that no other index is used
		s.Add("+parent IS NULL")
	default:
		s.Add("parent IS NULL")
	}
}

// MembersLeft is the condition of the index runs_members.
const MembersLeft = "parent IS NOT NULL AND state <> '" + string(ledger.Succeeded) + "'"

// StateIn returns the condition that a run is in one of the states. One that the ledger
// does not know selects nothing.
func StateIn(states []ledger.State) string {
	known := slices.DeleteFunc(slices.Clone(states), func(s ledger.State) bool { return !slices.Contains(ledger.States, s) })
	switch len(known) {
	case 0:
		return "false"
	case 1:
		return fmt.Sprintf("state = '%s'", known[0])
	}
	quoted := make([]string, len(known))
	for i, s := range known {
		quoted[i] = fmt.Sprintf("'%s'", s)
	}
	return "state IN (" + strings.Join(quoted, ", ") + ")"
}

// Incidents returns the conditions of a filter, whatever its limit; due is the condition
// that an incident is due.
func (d *Dialect) Incidents(f ledger.IncidentFilter, due string, args ...any) (s *Select, order string) {
	s, order = &Select{Dialect: d}, "id DESC"
	if f.ID != 0 {
		s.Add("id = ?", f.ID)
	}
	if f.JobID != "" {
		s.Add("job_id = ?", f.JobID)
	}
	if len(f.JobIDs) > 0 {
		s.Add(d.InJobs(f.WithSchedules), f.JobIDs)
	}
	if f.Before != 0 {
		s.Add("id < ?", f.Before)
	}
	if f.Open {
		s.Add("closed_at IS NULL")
	}
	if f.Due {
		order = "due_at, id"
		s.Add(due, args...)
	}
	return s, order
}

// Audit returns the query of a page of the audit. Of a series it has the newest entry of a job,
// with the count of all.
func (d *Dialect) Audit(f ledger.AuditFilter) (string, []any) {
	s := &Select{Dialect: d}
	if f.RunID != "" {
		s.Add("id "+d.InQuery(`SELECT id FROM audit WHERE run_id = ? AND run_id <> ''
			UNION ALL SELECT id FROM audit WHERE rerun_id = ? AND rerun_id <> ''`), f.RunID, f.RunID)
	} else {
		s.Add(`count > 0 AND (series = '' OR NOT EXISTS (SELECT 1 FROM audit n WHERE n.series = a.series AND n.series <> '' AND n.id > a.id
			AND ` + d.NoIndex + `n.by = a.by AND n.job_id = a.job_id AND n.count > 0))`)
	}
	if f.JobID != "" {
		s.Add("job_id = ?", f.JobID)
	}
	if len(f.JobIDs) > 0 {
		s.Add(d.InJobs(f.WithSchedules), f.JobIDs)
	}
	if !f.Since.IsZero() {
		s.Add("at >= ?", f.Since)
	}
	if !f.Until.IsZero() {
		s.Add("at < ?", f.Until)
	}
	if f.By != "" {
		s.Add("by = ?", f.By)
	}
	if f.Before != 0 {
		s.Add("id < ?", f.Before)
	}
	text := s.Text(`id, at, act, job_id, run_id, rerun_id, by, why, via, CASE WHEN series = '' OR count = 0 THEN count ELSE (
		SELECT CAST(sum(s.count) AS bigint) FROM audit s WHERE s.series = a.series AND s.series <> '' AND s.by = a.by AND s.job_id = a.job_id) END,
		series, about`, "audit a", "id DESC", f.PageSize())
	return text, s.Args
}
