// Package sqlfilter writes the filters of listings as SQL, for the engines on databases.
package sqlfilter

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

// Dialect is what engines write differently.
type Dialect struct {
	Parameter func(n int) string // the n-th of a statement, from 1 on
	In        string             // follows a column that is in a list of texts, which is ?
	Owner     string             // of a job_id: ledger.OwnerOf
	// Unfinished is implied by unfinished states, and Exceptional by one exceptional state.
	// With them, the indexes of these runs are used.
	Unfinished  string
	Exceptional string
	// Unacknowledged says that the unacknowledged runs of all jobs have an index.
	Unacknowledged bool
	// ByMembers selects members in one state by the whole key of the index runs_members, so that
	// the index of the IDs is not used, which would pass over those in other states.
	ByMembers bool
	Time      func(time.Time) any
	Texts     func([]string) any
}

// Select is a statement in the making.
type Select struct {
	Dialect
	where []string
	Args  []any
}

// Add adds a condition. A ? in it is the next value.
func (s *Select) Add(condition string, values ...any) {
	for _, v := range values {
		s.Args = append(s.Args, v)
		condition = strings.Replace(condition, "?", s.Parameter(len(s.Args)), 1)
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
		text += " LIMIT 0 + " + s.Parameter(len(s.Args))
	}
	return text
}

// Order returns the order of ScheduledAt, then ID; within a job, it is that of the IDs.
func Order(f ledger.Filter, direction string) string {
	if f.Parent != "" && len(f.States) == 1 {
		return "parent " + direction + ", state " + direction + ", run_id " + direction
	}
	if f.JobID != "" || f.Parent != "" {
		return "run_id " + direction
	}
	return "scheduled_at " + direction + ", run_id " + direction
}

// Runs returns the conditions of a filter, whatever its limit. Its states are text and no
// parameters: a statement is planned for all values of a parameter, so that an index with
// the runs of some states alone would not be used.
func (d Dialect) Runs(f ledger.Filter) *Select {
	s := &Select{Dialect: d}
	if len(f.IDs) > 0 {
		s.Add("run_id "+d.In, d.Texts(f.IDs))
	}
	if f.JobID != "" {
		from, below := f.IDBounds()
		s.Add("run_id >= ? AND run_id < ?", from, below)
	}
	d.members(s, f)
	if len(f.JobIDs) > 0 {
		s.Add(d.InJobs(f.WithSchedules), d.Texts(f.JobIDs))
	}
	if len(f.States) > 0 {
		s.Add(StateIn(f.States))
		if !slices.ContainsFunc(f.States, ledger.State.Finished) && f.Parent == "" {
			s.Add(d.Unfinished)
		}
	}
	unseen := d.Unacknowledged && f.Unacknowledged && f.JobID == ""
	if state := f.ExceptionalState(); state != "" && len(f.IDs) == 0 && f.Parent == "" && !unseen {
		s.Add(StateIn([]ledger.State{state}) + d.Exceptional)
	}
	if f.Reason != "" {
		s.Add("reason = ?", string(f.Reason))
	}
	if !f.Since.IsZero() {
		s.Add("scheduled_at >= ?", d.Time(f.Since))
	}
	if !f.Until.IsZero() {
		s.Add("scheduled_at < ?", d.Time(f.Until))
	}
	if f.Unacknowledged {
		s.Add("acked_at IS NULL")
	}
	if f.NotRerun {
		s.Add("rerun_id = ''")
	}
	if f.After != nil && f.Parent == "" {
		s.Add("(scheduled_at, run_id) > (?, ?)", d.Time(f.After.ScheduledAt), f.After.ID)
	}
	if f.Before != nil {
		s.Add("(scheduled_at, run_id) < (?, ?)", d.Time(f.Before.ScheduledAt), f.Before.ID)
	}
	return s
}

// InJobs returns the condition that a job is in a list of texts, which is ?.
func (d Dialect) InJobs(withSchedules bool) string {
	if withSchedules {
		return d.Owner + " " + d.In
	}
	return "job_id " + d.In
}

// members adds which members the filter selects. The runs of a job's range of IDs are none.
func (d Dialect) members(s *Select, f ledger.Filter) {
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
func (d Dialect) Incidents(f ledger.IncidentFilter, due string, args ...any) (s *Select, order string) {
	s, order = &Select{Dialect: d}, "id DESC"
	if f.ID != 0 {
		s.Add("id = ?", f.ID)
	}
	if f.JobID != "" {
		s.Add("job_id = ?", f.JobID)
	}
	if len(f.JobIDs) > 0 {
		s.Add(d.InJobs(f.WithSchedules), d.Texts(f.JobIDs))
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
