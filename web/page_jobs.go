package web

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/cronce/cronce/internal/operations"
)

const (
	jobsOnPage = 100
	stripCells = 30
)

// jobsView is the page /jobs: the selected jobs, in an order.
type jobsView struct {
	Rows      []jobRow
	Query     string // a part of the ID or of the schedule in words
	State     operations.JobState
	States    []stateCount
	Choices   choices
	Columns   []column
	Sort      string
	Sorts     []jobOrder
	Total     int          // that match
	All       int          // that there are
	Prev, Off string       // addresses of the pages beside this one
	From, To  int          // the places of the first and the last row, from 1
	Unknown   string       // why no job can match
	Runs      []actionLink // those of the selected jobs
	CLI       string
	Now       clock
}

type stateCount struct {
	State operations.JobState
	Count int
}

// jobStates are the states of the registry's and of other jobs, those that need somebody first.
var jobStates = append(slices.Clip(operations.JobStates), operations.JobEnded)

// jobs is the page /jobs. It selects and sorts all jobs by what is cheap to have (see briefs), and reads in full only
// those that the page shows.
func (d *Dashboard) jobs(r *http.Request) (view, error) {
	q, ctx := r.URL.Query(), r.Context()
	v, err := d.newJobsView(r)
	if err != nil {
		return view{}, err
	}
	states, pauses, err := d.states(ctx)
	if err != nil {
		return view{}, err
	}
	all := d.briefs(states, pauses, v.Now.Time)
	title := v.count(all)
	briefs, err := d.selected(selectionOf(q), all)
	if refused, is := operationsError(err); is {
		v.Unknown, v.CLI = sentenceOf(refused.Message), ""
	} else if err != nil {
		return view{}, err
	}
	briefs = slices.DeleteFunc(briefs, func(b brief) bool { return v.State != "" && b.State != v.State || !b.matches(v.Query) })
	order, descending := orderOf(q.Get("sort"))
	slowdowns := map[string]float64{}
	if order.Key == bySlower { // no other order pays for it
		if slowdowns, err = d.Operations.Slowdowns(ctx); err != nil {
			return view{}, err
		}
		for i := range briefs {
			briefs[i].slower = slowdowns[briefs[i].ID]
		}
	}
	order.sort(briefs, descending)
	if v.Rows, err = d.readRows(ctx, v.page(q, briefs)); err != nil {
		return view{}, err
	}
	for i := range v.Rows {
		if slower := slowdowns[v.Rows[i].ID]; slower > 0 {
			v.Rows[i].Slower = times(slower)
		}
	}
	return view{Template: "jobs", Title: title, Section: "Jobs", Data: v}, nil
}

// newJobsView returns what follows from the address alone, before the ledger is read.
func (d *Dashboard) newJobsView(r *http.Request) (jobsView, error) {
	q := r.URL.Query()
	sel := selectionOf(q)
	order, descending := orderOf(q.Get("sort"))
	v := jobsView{
		Query: strings.TrimSpace(q.Get("q")), State: operations.JobState(q.Get("state")), Choices: d.choices(sel), Now: d.clockOf(r),
		Sorts: jobOrders, Sort: order.Key, Columns: columnsOf(q, order.Key, descending),
	}
	if v.State != "" && !slices.Contains(jobStates, v.State) {
		return v, invalid("Unknown job state \""+string(v.State)+"\".", "Valid states: "+join(jobStates)+".")
	}
	state := strings.TrimPrefix(string(v.State), string(operations.JobEnded)) // the command lists the registry's jobs
	v.CLI = commandOf("cronce jobs list", append(selectionFlags(sel), [2]string{"--state", state}))
	if !sel.IsZero() {
		pairs := selectionPairs(sel)
		v.Runs = []actionLink{{Label: "Runs", Path: runsPath(pairs...)},
			{Label: "Dead runs", Path: runsPath(append(pairs, "state", "dead", "unacknowledged", "1")...)}}
	}
	return v, nil
}

// count counts all jobs by state, and returns the page's title.
func (v *jobsView) count(all []brief) (title string) {
	v.All = len(all)
	counts := map[operations.JobState]int{}
	for _, b := range all {
		counts[b.State]++
	}
	for _, s := range jobStates {
		if counts[s] > 0 {
			v.States = append(v.States, stateCount{s, counts[s]})
		}
	}
	if n := counts[operations.JobFailing]; n > 0 {
		return counted(n, "failing job")
	}
	return counted(v.All, "job")
}

// page returns the IDs of the jobs that the address asks for, and links to those beside them.
func (v *jobsView) page(q url.Values, briefs []brief) (ids []string) {
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
	for _, b := range briefs[offset:end] {
		ids = append(ids, b.ID)
	}
	return ids
}
