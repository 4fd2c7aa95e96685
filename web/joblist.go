package web

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// brief has the values by which the list of jobs is selected and sorted. Each job has one; a job
// that the page shows has a row too.
type brief struct {
	operations.JobDescription
	slower float64 // see operations.Slowdowns; 0: not known
}

// matches reports whether a text is in the job's ID or in its schedule's words.
func (b brief) matches(text string) bool {
	return strings.Contains(b.ID, text) ||
		b.Job != nil && b.Job.ParsedSchedule() != nil && strings.Contains(b.Job.ParsedSchedule().Describe(), text)
}

// Owner returns the job's owner, "" if the registry lacks the job.
func (b brief) Owner() string {
	if b.Job == nil {
		return ""
	}
	return b.Job.Owner
}

// Target names the job's target; "" for a built-in job, and for one that the registry lacks.
func (b brief) Target() string {
	if b.Job == nil || b.Job.Target == jobs.BuiltinTarget {
		return ""
	}
	return b.Job.Target
}

// states reads the states of all jobs, and the pauses of many jobs that have not ended.
func (d *Dashboard) states(ctx context.Context) (states []ledger.JobState, pauses []ledger.Pause, err error) {
	if pauses, err = d.Ledger.Pauses(ctx, false); err != nil {
		return nil, nil, err
	}
	states, err = d.Ledger.JobStates(ctx)
	return states, pauses, err
}

// paused reports whether a job is paused by itself, or in a pause of many. It is asked of every job:
// a description would look for the next run too.
func (d *Dashboard) paused(s ledger.JobState, pauses []ledger.Pause) bool {
	j, found := d.registry().Job(s.JobID)
	pause, _ := operations.Paused(pauses, j, d.now())
	return !s.PausedAt.IsZero() || found && pause != nil
}

// briefs joins the registry's jobs and templates with the jobs that only the ledger knows, by ID. It
// is called with 100,000 jobs to list 100 of them: it takes a state of each, and readRows reads
// those that are shown in full.
func (d *Dashboard) briefs(states []ledger.JobState, pauses []ledger.Pause, now time.Time) []brief {
	known := map[string]ledger.JobState{}
	for _, s := range states {
		known[s.JobID] = s
	}
	var list []brief
	for j := range d.registry().JobsAndTemplates() {
		list = append(list, brief{JobDescription: operations.DescribeState(&j, known[j.ID], pauses, now)})
		delete(known, j.ID)
	}
	// Those that are left are not in the registry: ended, or of another process's registry.
	for _, s := range known {
		list = append(list, brief{JobDescription: operations.DescribeState(nil, s, nil, now)})
	}
	slices.SortFunc(list, func(a, b brief) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// selected returns those of the jobs that a selection takes.
func (d *Dashboard) selected(sel operations.Selection, briefs []brief) ([]brief, error) {
	if sel.NamesOneJob() {
		return slices.DeleteFunc(briefs, func(b brief) bool { return sel.Job != "" && b.ID != sel.Job }), nil
	}
	list, err := sel.JobsIn(d.registry())
	return slices.DeleteFunc(briefs, func(b brief) bool {
		_, taken := slices.BinarySearchFunc(list, b.ID, func(j jobs.Job, id string) int { return strings.Compare(j.ID, id) })
		return !taken
	}), err
}

// bySlower is the order that has the jobs first that have got slower. Only it asks how much:
// that reads two weeks of every job.
const bySlower = "slower"

// jobOrder is an order of the list of jobs.
type jobOrder struct {
	Key, Name string // in the address; for people
	compare   func(a, b brief) int
}

// jobOrders are all orders. What has no value is last.
var jobOrders = []jobOrder{
	{"", "name", func(brief, brief) int { return 0 }},
	{"state", "state, trouble first", func(a, b brief) int {
		return cmp.Compare(slices.Index(jobStates, a.State), slices.Index(jobStates, b.State))
	}},
	{"owner", "owner", func(a, b brief) int { return lastEmpty(a.Owner(), b.Owner()) }},
	{"target", "target", func(a, b brief) int { return lastEmpty(a.Target(), b.Target()) }},
	{"next", "next run", func(a, b brief) int {
		return cmp.Or(compareBools(a.Starts.IsZero(), b.Starts.IsZero()), a.Starts.Compare(b.Starts))
	}},
	{bySlower, "slower than last month", func(a, b brief) int { return cmp.Compare(b.slower, a.slower) }},
}

func lastEmpty(a, b string) int { return cmp.Or(compareBools(a == "", b == ""), strings.Compare(a, b)) }

// compareBools orders false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// orderOf reads an order: its key, after a minus the other way round. Any other text is
// the order by name.
func orderOf(text string) (o jobOrder, descending bool) {
	key, descending := strings.CutPrefix(text, "-")
	i := slices.IndexFunc(jobOrders, func(o jobOrder) bool { return o.Key == key })
	return jobOrders[max(i, 0)], descending
}

// sort sorts jobs that are sorted by ID.
func (o jobOrder) sort(briefs []brief, descending bool) {
	slices.SortStableFunc(briefs, func(a, b brief) int {
		if descending {
			return cmp.Or(o.compare(b, a), strings.Compare(b.ID, a.ID))
		}
		return o.compare(a, b)
	})
}

// column is the head of a column; one with a link is sorted by it.
type column struct{ Name, Class, Link, Order string }

// columnsOf returns the heads of the list's columns. A head links to the list in its order; the head of the present
// order links to the opposite one.
func columnsOf(q url.Values, sorted string, descending bool) []column {
	list := columns("Job", "State", "Owner", "Target", "Last scheduled times", "Next|num", "p95 duration|num")
	keys := []string{"", "state", "owner", "target", "-", "next", bySlower}
	for i, key := range keys {
		switch {
		case key == "-":
			continue
		case key != sorted:
			list[i].Link = jobsAt(q, "sort", key)
		case descending:
			list[i].Link, list[i].Order = jobsAt(q, "sort", key), "descending"
		default:
			list[i].Link, list[i].Order = jobsAt(q, "sort", "-"+key), "ascending"
		}
	}
	return list
}

// jobsAt returns the address of the list with one parameter changed. It leaves out the page, as another order begins at
// its first one.
func jobsAt(q url.Values, name, value string) string {
	out := url.Values{}
	for _, kept := range []string{"q", "state", "job", "owner", "label", "target", "sort"} {
		if q.Get(kept) != "" {
			out[kept] = q[kept]
		}
	}
	out.Set(name, value)
	if value == "" {
		out.Del(name)
	}
	if len(out) == 0 {
		return "/jobs"
	}
	return "/jobs?" + out.Encode()
}
