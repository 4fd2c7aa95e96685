package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

const (
	jobsOnPage = 100
	stripCells = 30
)

type jobsView struct {
	Rows      []jobRow
	Query     string
	State     operations.JobState
	States    []stateCount
	Choices   choices
	Columns   []column
	Sort      string
	Sorts     []jobOrder
	Total     int // that match
	All       int
	Prev, Off string // addresses of the pages beside this one
	From, To  int
	Unknown   string    // why no job can match
	Runs      []actLink // those of the selected jobs
	CLI       string
	Now       clock
}

type stateCount struct {
	State operations.JobState
	Count int
}

// jobRow is a job in a list.
type jobRow struct {
	ID     string
	Words  string // the schedule
	Expr   string
	Owner  string
	Target string    // "" for a built-in job, and for one that is not in the registry
	Next   time.Time // the scheduled time of its next run
	Start  time.Time // of that run
	State  operations.JobState
	Since  time.Time
	// Earlier says that it has failed since Since or an earlier time.
	Earlier bool
	By      string // who paused it
	Why     string
	Until   time.Time // the end of the pause; zero: none is set
	Held    time.Time // the end of the hold of its target
	Dead    int
	Strip   strip
	P95     time.Duration
	HasP95  bool
	Slower  string // the p95 of the last week by that of four weeks before; "": not asked for, or too few runs
}

// jobStates are the states of the registry's and of other jobs, those that need somebody first.
var jobStates = append(slices.Clip(operations.JobStates), operations.JobEnded)

func (d *Dashboard) jobs(r *http.Request) (view, error) {
	q := r.URL.Query()
	sel := selectionOf(q)
	v := jobsView{Query: strings.TrimSpace(q.Get("q")), State: operations.JobState(q.Get("state")), Choices: d.choices(sel), Sorts: jobOrders, Now: d.clockOf(r)}
	if v.State != "" && !slices.Contains(jobStates, v.State) {
		return view{}, invalid("There is no job state \""+string(v.State)+"\".", "Valid states: "+join(jobStates)+".")
	}
	order, descending := orderOf(q.Get("sort"))
	v.Sort, v.Columns, v.CLI = order.Key, columnsOf(q, order.Key, descending),
		commandOf("cronce jobs list", append(selectionFlags(sel), [2]string{"--state", strings.TrimPrefix(string(v.State), string(operations.JobEnded))}))
	if !sel.IsZero() {
		pairs := selectionPairs(sel)
		v.Runs = []actLink{{Label: "Runs", Path: runsPath(pairs...)},
			{Label: "Dead runs", Path: runsPath(append(pairs, "state", "dead", "unacked", "1")...)}}
	}
	states, pauses, err := d.states(r.Context())
	if err != nil {
		return view{}, err
	}
	briefs := d.briefs(states, pauses, v.Now.Time)
	v.All = len(briefs)
	counts := map[operations.JobState]int{}
	for _, b := range briefs {
		counts[b.state]++
	}
	for _, s := range jobStates {
		if counts[s] > 0 {
			v.States = append(v.States, stateCount{s, counts[s]})
		}
	}
	if briefs, err = d.selected(sel, briefs); err != nil {
		refused, is := operationsError(err)
		if !is {
			return view{}, err
		}
		v.Unknown, v.CLI = sentenceOf(refused.Message), ""
	}
	briefs = slices.DeleteFunc(briefs, func(b brief) bool { return v.State != "" && b.state != v.State || !b.matches(v.Query) })
	slowdowns := map[string]float64{}
	if order.Key == bySlower {
		if slowdowns, err = d.Operations.Slowdowns(r.Context()); err != nil {
			return view{}, err
		}
		for i := range briefs {
			briefs[i].slower = slowdowns[briefs[i].id]
		}
	}
	order.sort(briefs, descending)
	v.Total = len(briefs)
	offset, _ := strconv.Atoi(q.Get("offset"))
	offset = max(0, min(offset, max(v.Total-1, 0)/jobsOnPage*jobsOnPage))
	end := min(offset+jobsOnPage, v.Total)
	v.From, v.To = offset+1, end
	if offset > 0 {
		v.Prev = jobsAt(q, "offset", strconv.Itoa(max(0, offset-jobsOnPage)))
	}
	if end < v.Total {
		v.Off = jobsAt(q, "offset", strconv.Itoa(end))
	}
	var ids []string
	for _, b := range briefs[offset:end] {
		ids = append(ids, b.id)
	}
	if v.Rows, err = d.readRows(r.Context(), ids); err != nil {
		return view{}, err
	}
	for i := range v.Rows {
		if slower := slowdowns[v.Rows[i].ID]; slower > 0 {
			v.Rows[i].Slower = times(slower)
		}
	}
	title := counted(v.All, "job")
	if n := counts[operations.JobFailing]; n > 0 {
		title = counted(n, "failing job")
	}
	return view{Template: "jobs", Title: title, Section: "Jobs", Data: v}, nil
}

// readRows reads jobs in full, in the order of their IDs.
func (d *Dashboard) readRows(ctx context.Context, ids []string) ([]jobRow, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	statuses, err := d.Ledger.Jobs(ctx, ids...)
	if err != nil {
		return nil, err
	}
	byID, others := map[string]*ledger.JobStatus{}, []string(nil)
	for i := range statuses {
		id := statuses[i].JobID
		byID[id] = &statuses[i]
		if _, registered := d.registry().Job(id); !registered {
			others = append(others, id)
		}
	}
	bodies, err := d.Ledger.JobBodies(ctx, others...)
	if err != nil {
		return nil, err
	}
	cells, err := d.Ledger.Recent(ctx, ids, stripCells)
	if err != nil {
		return nil, err
	}
	pauses, err := d.Ledger.Pauses(ctx, false)
	if err != nil {
		return nil, err
	}
	now := d.now()
	var rows []jobRow
	for _, id := range ids {
		var row jobRow
		j, registered := d.registry().Job(id)
		switch s := byID[id]; {
		case registered:
			row = newJobRow(j, s, pauses, now)
		case d.isTemplate(id):
			row = d.templateRow(id, s)
		case s != nil:
			row = endedRow(s, bodies[id])
		default:
			continue // it is gone meanwhile
		}
		row.Strip = newStrip(cells[id], stripCells)
		row.P95, row.HasP95 = p95(cells[id])
		rows = append(rows, row)
	}
	return rows, nil
}

func newJobRow(j jobs.Job, s *ledger.JobStatus, pauses []ledger.Pause, now time.Time) jobRow {
	row := jobRow{ID: j.ID, Words: j.ParsedSchedule().Describe(), Expr: j.Schedule, Owner: j.Owner, Target: targetOf(j)}
	pause, hold := operations.Paused(pauses, j, now)
	if s != nil && s.Watermark.After(now) { // the clock was set back: what is planned does not run again
		now = s.Watermark
	}
	row.know(&j, s, pause)
	if hold != nil {
		row.Held = hold.Until
	}
	if !j.Disabled && (row.State != operations.JobPaused || !row.Until.IsZero()) {
		if row.Next = operations.NextRun(pauses, j, now); !row.Next.IsZero() {
			row.Start = j.DueAt(row.Next)
		}
	}
	return row
}

// know adds what the ledger knows of the job, and the pause of many that it is in.
func (row *jobRow) know(j *jobs.Job, s *ledger.JobStatus, pause *ledger.Pause) {
	s = cmp.Or(s, &ledger.JobStatus{})
	row.Dead = s.DeadUnacknowledged
	switch row.State = operations.StateOf(j, s.State(), pause); {
	case row.State == operations.JobPaused && !s.PausedAt.IsZero(): // without an end
		row.Since, row.By, row.Why = s.PausedAt, s.PausedBy, s.PausedWhy
	case row.State == operations.JobPaused:
		row.Since, row.By, row.Until, row.Why = pause.From, pause.By, pause.Until, pause.Why
	case row.State == operations.JobFailing:
		row.Since, row.Earlier = s.FailingSince, s.FailingEarlier
	}
}

// endedRow is a job that the ledger knows and the registry does not have.
func endedRow(s *ledger.JobStatus, body []byte) jobRow {
	row := jobRow{ID: s.JobID, Words: "not in this process's registry"}
	if j, err := jobs.ParseDefinition(body); err == nil && len(body) > 0 {
		row.Words, row.Expr = j.ParsedSchedule().Describe(), j.Schedule
	}
	row.know(nil, s, nil)
	return row
}
