package web

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

const (
	runsOnPage = 50
	// groupedRuns is how many runs are looked at for their groups.
	groupedRuns = 500
	// groupsOnPage are the largest of them.
	groupsOnPage = 50
)

type runsView struct {
	Filter  runFilter
	Choices choices
	Runs    []runRow
	Groups  []runGroup
	Grouped bool
	More    string // the address of the next page
	States  []ledger.State
	Reasons []ledger.Reason
	CLI     string
	Looked  int
	Cut     bool   // more rows match than were looked at
	Rest    int    // groups that are not shown
	Unknown string // why no run can match
	Now     clock
	Any     bool // a filter is set
	Toggle  string
	Acts    []actLink // on all runs that match
	Exports []actLink
}

// runFilter is a filter as it was written in the address.
type runFilter struct {
	operations.Selection
	Reason, Since, Until string
	States               []string
	Unacked              bool
	Parent               string // of an action: its members
}

// Has reports whether a state is among those asked for.
func (f runFilter) Has(s ledger.State) bool { return slices.Contains(f.States, string(s)) }

type runRow struct {
	ledger.Run
	Kind kind
	Wait ledger.WaitReason
	Took time.Duration
}

func (d *Dashboard) runs(r *http.Request) (view, error) {
	q, ctx := r.URL.Query(), r.Context()
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
	exported.Since, exported.Until = stamp(f.Since), stamp(f.Until)
	v.Exports = d.exportLinks("runs", exported.exportPairs()...)
	size := runsOnPage
	if v.Grouped {
		size = groupedRuns
	}
	f.Limit = size + 1 // one more tells whether there are more
	runs, err := d.matching(ctx, v.Filter.Selection, f)
	if err := v.refuse(err); err != nil {
		return view{}, err
	}
	v.Cut = len(runs) > size
	runs = runs[:min(len(runs), size)]
	v.Looked = len(runs)
	if operations.Redrive.Selects(v.Filter.Selection, ledger.Action{Filter: f}) {
		v.Acts = d.filterActs(r, v.Filter, f, func(want func(ledger.State) bool) bool {
			return v.Cut || f.Before != nil || slices.ContainsFunc(runs, func(run ledger.Run) bool { return want(run.State) })
		})
	}
	title := "Runs"
	if len(v.Filter.States) > 0 {
		title = strings.Join(v.Filter.States, ", ") + " runs"
	}
	out := view{Template: "runs", Title: title, Section: "Runs"}
	if v.Grouped {
		v.Groups = groupRuns(runs, v.Now.Time)
		slices.SortStableFunc(v.Groups, func(a, b runGroup) int { return b.Count - a.Count })
		v.Rest = max(len(v.Groups)-groupsOnPage, 0)
		v.Groups = v.Groups[:len(v.Groups)-v.Rest]
		for i, g := range v.Groups {
			if g.State == ledger.Dead {
				v.Groups[i].Acts = d.deadActs(r, g.Job, g.Reason, g.Sendable)
			}
		}
		out.Data = v
		return out, nil
	}
	if v.Cut {
		last := runs[len(runs)-1]
		v.More = v.Filter.address(last.ID, false)
	}
	if v.Runs, err = d.runRows(r, runs); err != nil {
		return view{}, err
	}
	out.Data = v
	return out, nil
}

// matching returns the runs of selected jobs that a filter selects; an Error of operations
// says why none can match.
func (d *Dashboard) matching(ctx context.Context, sel operations.Selection, f ledger.Filter) ([]ledger.Run, error) {
	if err := d.Operations.Narrow(ctx, sel, &f); err != nil {
		return nil, err
	}
	runs, err := d.Ledger.List(ctx, f)
	if err == nil && len(runs) == 0 {
		err = d.Operations.KnownJob(ctx, f.JobID)
	}
	return runs, err
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

func (d *Dashboard) runRows(r *http.Request, runs []ledger.Run) ([]runRow, error) {
	var ids []string
	for _, run := range runs {
		if run.State == ledger.Planned || run.State == ledger.Retrying {
			ids = append(ids, run.ID)
		}
	}
	waits, err := d.Ledger.Waiting(r.Context(), ids)
	if err != nil {
		return nil, err
	}
	var rows []runRow
	for _, run := range runs {
		row := runRow{Run: run, Kind: kindOf(run.State, run.Replayed), Wait: waits[run.ID]}
		if !run.StartedAt.IsZero() && !run.FinishedAt.IsZero() {
			row.Took = run.FinishedAt.Sub(run.StartedAt)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// parse reads the filters of an address and checks them.
func (f *runFilter) parse(q url.Values, now time.Time) (ledger.Filter, error) {
	f.Selection = selectionOf(q)
	f.Reason, f.Since, f.Until = q.Get("reason"), strings.TrimSpace(q.Get("since")), strings.TrimSpace(q.Get("until"))
	f.Unacked = q.Get("unacked") != ""
	out := ledger.Filter{Unacknowledged: f.Unacked}
	for _, list := range q["state"] {
		for _, s := range strings.Split(list, ",") {
			if s == "" {
				continue
			}
			if !slices.Contains(ledger.States, ledger.State(s)) {
				return out, invalid("There is no state \""+s+"\".", "Valid states: "+join(ledger.States)+".")
			}
			f.States = append(f.States, s)
			out.States = append(out.States, ledger.State(s))
		}
	}
	if f.Reason != "" {
		if out.Reason = ledger.Reason(f.Reason); !slices.Contains(ledger.Reasons, out.Reason) {
			return out, invalid("There is no reason \""+f.Reason+"\".", "Valid reasons: "+join(ledger.Reasons)+".")
		}
	}
	var err error
	out.Since, out.Until, err = parseSpan(f.Since, f.Until, now)
	return out, err
}

// parseSpan reads the two ends of a span; each may be empty.
func parseSpan(since, until string, now time.Time) (from, to time.Time, err error) {
	if since != "" {
		if from, err = parseTime(since, now); err != nil {
			return from, to, err
		}
	}
	if until != "" {
		if to, err = parseTime(until, now); err != nil {
			return from, to, err
		}
	}
	if since != "" && until != "" && !from.Before(to) {
		err = invalid("The end (until) is not after the start (since), so nothing lies between them.", "Choose a later end.")
	}
	return from, to, err
}

func join[T ~string](list []T) string { return strings.Join(operations.Texts(list), ", ") }

func (f runFilter) any() bool {
	return !f.IsZero() || f.Reason+f.Since+f.Until != "" || len(f.States) > 0 || f.Unacked
}

// address is the page with these filters, after a run, grouped or not.
func (f runFilter) address(before string, grouped bool) string {
	if f.Parent != "" {
		return runPath(f.Parent)
	}
	pairs := append(f.pairs(), "before", before)
	if f.Unacked {
		pairs = append(pairs, "unacked", "1")
	}
	if grouped {
		pairs = append(pairs, "group", "1")
	}
	return runsPath(pairs...)
}

// pairs are the names and values of an address that selects the same runs, acknowledged or
// not.
func (f runFilter) pairs() []string {
	return append(selectionPairs(f.Selection), "parent", f.Parent, "state", strings.Join(f.States, ","), "reason", f.Reason, "since", f.Since,
		"until", f.Until)
}

// exportPairs are pairs as the API takes them.
func (f runFilter) exportPairs() []string {
	pairs := append(selectionPairs(f.Selection), "reason", f.Reason, "since", f.Since, "until", f.Until)
	for _, s := range f.States {
		pairs = append(pairs, "state", s)
	}
	if f.Unacked {
		pairs = append(pairs, "unacknowledged", "true")
	}
	return pairs
}

// words are what the filter selects, for a heading.
func (f runFilter) words() string {
	text := "runs"
	if len(f.States) > 0 {
		text = strings.Join(f.States, " or ") + " runs"
	}
	if f.Parent != "" {
		text = strings.TrimSuffix(text, "runs") + "members of " + f.Parent
	}
	for _, part := range [][2]string{{" of ", strings.TrimPrefix(f.Words(), "job ")}, {", ", strings.ReplaceAll(f.Reason, "_", " ")},
		{" since ", f.Since}, {" until ", f.Until}} {
		if part[1] != "" {
			text += part[0] + part[1]
		}
	}
	return text
}

// command is the same listing on the command line.
func (f runFilter) command() string {
	words := append([]string{"cronce runs list"}, f.flags()...)
	if f.Unacked {
		words = append(words, "--unacknowledged")
	}
	return strings.Join(words, " ")
}

func (f runFilter) flags() []string {
	return flagWords(append(selectionFlags(f.Selection), [][2]string{
		{"--parent", f.Parent}, {"--state", strings.Join(f.States, ",")}, {"--reason", f.Reason}, {"--since", f.Since}, {"--until", f.Until},
	}...))
}

// cursor reads where a listing goes on: behind the run with this ID.
func cursor(id string) (*ledger.Cursor, error) {
	if id == "" {
		return nil, nil
	}
	at, ok := scheduledAt(id)
	if !ok {
		return nil, invalid("\""+id+"\" is not a run ID.", "Follow the link \"Older\", or start with the newest.")
	}
	return &ledger.Cursor{ScheduledAt: at, ID: id}, nil
}

// scheduledAt reads a run's scheduled time from its ID.
func scheduledAt(runID string) (time.Time, bool) {
	_, rest, _ := strings.Cut(runID, "@")
	if len(rest) < len("2006-01-02T15:04:05Z") {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339, rest[:len("2006-01-02T15:04:05Z")])
	return at, err == nil
}
