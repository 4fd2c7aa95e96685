package web

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

const (
	runsOnPage = 50
	// groupedRuns is the number of runs that are grouped.
	groupedRuns = 500
	// groupsOnPage are the largest of them.
	groupsOnPage = 50
)

// runsView is the page /runs: the runs of a filter, newest first, one by one or in groups.
type runsView struct {
	Filter  runFilter
	Choices choices
	Runs    []runRow   // one by one, or
	Groups  []runGroup // in groups, if Grouped
	Grouped bool
	More    string // the address of the next page
	States  []ledger.State
	Reasons []ledger.Reason
	CLI     string
	Looked  int    // the rows that were grouped
	Cut     bool   // more rows match than were looked at
	Rest    int    // groups that are not shown
	Unknown string // why no run can match
	Now     clock
	Any     bool         // a filter is set
	Toggle  string       // the same filter, grouped or not
	Actions []actionLink // on all runs that match
	Exports []actionLink
}

// runRow is a run in a list.
type runRow struct {
	ledger.Run
	Kind kind
	Took time.Duration
}

// runs is the page /runs.
func (d *Dashboard) runs(r *http.Request) (view, error) {
	q := r.URL.Query()
	v := runsView{States: ledger.States, Reasons: ledger.Reasons, Now: d.clockOf(r), Grouped: q.Get("group") != ""}
	f, err := v.Filter.parse(q, v.Now.Time)
	if err != nil {
		return view{}, err
	}
	if f.Before, err = cursor(q.Get("before")); err != nil {
		return view{}, err
	}
	v.Any, v.CLI, v.Toggle = v.Filter.any(), v.Filter.command(), v.Filter.address("", !v.Grouped)
	v.Choices = d.choices(v.Filter.Selection)
	exported := v.Filter
	exported.Since, exported.Until = operations.TimeText(f.Since), operations.TimeText(f.Until)
	v.Exports = d.exportLinks("runs", exported.exportPairs()...)
	title := "Runs"
	if len(v.Filter.States) > 0 {
		title = strings.Join(v.Filter.States, ", ") + " runs"
	}
	if v.Grouped {
		err = d.addGroups(r, &v, f)
	} else {
		err = d.addRuns(r, &v, f)
	}
	return view{Template: "runs", Title: title, Section: "Runs", Data: v}, err
}

// addRuns adds a page of the runs of a filter.
func (d *Dashboard) addRuns(r *http.Request, v *runsView, f ledger.Filter) error {
	f.Limit = runsOnPage + 1 // one more tells whether there are more
	runs, err := matching(r.Context(), d, v.Filter.Selection, f, d.Ledger.List)
	if err := v.refuse(err); err != nil {
		return err
	}
	if len(runs) > runsOnPage {
		runs = runs[:runsOnPage]
		v.Cut, v.More = true, v.Filter.address(runs[runsOnPage-1].ID, false)
	}
	var states []ledger.State
	for _, run := range runs {
		states = append(states, run.State)
	}
	d.addFilterActions(r, v, f, states)
	v.Runs, err = d.runRows(r, runs)
	return err
}

// addGroups adds the groups of the newest runs of a filter.
func (d *Dashboard) addGroups(r *http.Request, v *runsView, f ledger.Filter) error {
	f.Limit = groupedRuns
	list, err := matching(r.Context(), d, v.Filter.Selection, f, d.Ledger.Groups)
	if err := v.refuse(err); err != nil {
		return err
	}
	v.Looked = rowsOf(list) // the groups are of these runs alone; the page says so if there are more
	v.Cut = v.Looked == groupedRuns
	var states []ledger.State
	for _, g := range list {
		states = append(states, g.State)
	}
	d.addFilterActions(r, v, f, states)
	v.Groups = groupsOf(list, v.Now.Time)
	slices.SortStableFunc(v.Groups, func(a, b runGroup) int { return b.Count - a.Count })
	v.Rest = max(len(v.Groups)-groupsOnPage, 0)
	v.Groups = v.Groups[:len(v.Groups)-v.Rest]
	for i, g := range v.Groups {
		if g.State == ledger.Dead {
			v.Groups[i].Actions = d.groupActions(r, g)
		}
	}
	return nil
}

// addFilterActions adds the actions on all runs of a filter. states are those of the runs at hand; a
// page that is not the whole list may leave out runs in any state.
func (d *Dashboard) addFilterActions(r *http.Request, v *runsView, f ledger.Filter, states []ledger.State) {
	if operations.RunAction(operations.Redrive).Selects(v.Filter.Selection, f) {
		v.Actions = d.filterActions(r, v.Filter, f, func(want func(ledger.State) bool) bool {
			return v.Cut || f.Before != nil || slices.ContainsFunc(states, want)
		})
	}
}

// matching lists runs of selected jobs that a filter selects; an Error of operations says why
// none can match.
func matching[T any](
	ctx context.Context, d *Dashboard, sel operations.Selection, f ledger.Filter, list func(context.Context, ledger.Filter) ([]T, error),
) ([]T, error) {
	if err := d.Operations.Narrow(ctx, sel, &f); err != nil {
		return nil, err
	}
	found, err := list(ctx, f)
	if err == nil && len(found) == 0 {
		err = d.Operations.KnownJob(ctx, f.JobID)
	}
	return found, err
}

// refuse says why the filters select no run, and shows no command that would say the
// same; errors of the ledger pass.
func (v *runsView) refuse(err error) error {
	refused, is := operationsError(err)
	if !is {
		return err
	}
	v.Unknown, v.CLI = sentenceOf(refused.Message), ""
	return nil
}

// runRows adds to runs what the rows of a list show: the kind, the duration, and why those that wait do.
func (d *Dashboard) runRows(r *http.Request, runs []ledger.Run) ([]runRow, error) {
	rows, all := make([]runRow, len(runs)), make([]*ledger.Run, len(runs))
	for i, run := range runs {
		rows[i] = runRow{Run: run, Kind: kindOf(run.State, run.Replayed)}
		all[i] = &rows[i].Run
		if !run.StartedAt.IsZero() && !run.FinishedAt.IsZero() {
			rows[i].Took = run.FinishedAt.Sub(run.StartedAt)
		}
	}
	return rows, d.Operations.AddWaiting(r.Context(), all...)
}
