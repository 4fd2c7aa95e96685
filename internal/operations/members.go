package operations

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Member is one member of a run: a call for one item of the list that the job's each fetches. Every interface shows it.
type Member struct {
	Key        string        `json:"key"`
	RunID      string        `json:"runId"`
	State      ledger.State  `json:"state"` // of its run, or NotStarted
	Reason     ledger.Reason `json:"reason,omitempty"`
	Attempts   int           `json:"attempts"`
	Status     int           `json:"status,omitempty"`
	Error      string        `json:"error,omitempty"` // of its last attempt
	ErrorCode  string        `json:"errorCode,omitempty"`
	NextAt     string        `json:"nextAt,omitempty"`
	StartedAt  string        `json:"startedAt,omitempty"`
	FinishedAt string        `json:"finishedAt,omitempty"`
	AckedAt    string        `json:"ackedAt,omitempty"`
}

const (
	// NotStarted is the state of a member that no run was made for yet.
	NotStarted ledger.State = "not_started"
	// NotSucceeded selects members in any state but succeeded.
	NotSucceeded ledger.State = "not_succeeded"
)

// MemberStates are the states of members in the order of their list: what failed comes first.
var MemberStates = []ledger.State{
	ledger.Dead, ledger.Canceled, ledger.Retrying, ledger.Running, ledger.Accepted, ledger.Planned, NotStarted, ledger.Succeeded,
}

// MemberFilterStates lists the valid values of MemberQuery.States.
var MemberFilterStates = append(slices.Clone(MemberStates), NotSucceeded)

// MemberQuery selects members of a parent.
type MemberQuery struct {
	Parent string         // run ID or key: see FindRun
	States []ledger.State // of MemberFilterStates; nil: all
	Key    string         // whole, or its beginning and *; "": any
	After  string         // Next of the page before
	Limit  int
}

// MemberPage is a page of members, by state in the order of MemberStates, then by run ID. By
// the beginning of a key it is not ordered by state, and a page may have fewer than Limit.
type MemberPage struct {
	Members []Member `json:"members"`
	// Next continues the list; "" after its last member.
	Next string `json:"-"`
}

// Members lists a page of the members of a run. The list is in groups, one for each state, so that
// failed members come first; the ledger lists one group at a time. The cursor is "group/run ID": the
// index of the group in MemberQuery.groups, and the last run ID that was listed of it. A member that
// changes its state between two pages may be on both, or on neither.
func (s *Service) Members(ctx context.Context, q MemberQuery) (page MemberPage, err error) {
	parent, err := s.parent(ctx, q.Parent)
	if err != nil {
		return page, err
	}
	groups, err := q.groups(parent.ID)
	if err != nil {
		return page, err
	}
	number, after, _ := strings.Cut(cmp.Or(q.After, "0/"), "/")
	from, err := strconv.Atoi(number)
	if err != nil || from < 0 || from > len(groups) {
		return page, refuse(Invalid, "the position %q is not one of this list; begin with its first page", q.After)
	}
	size, position := cmp.Or(q.Limit, DefaultPage), ""
	var found []ledger.MemberRun
	for i, f := range groups[from:] {
		f.After, f.Limit = after, size+1-len(found) // one more tells whether there is a next page
		got, err := s.ledger.Members(ctx, f)
		if err != nil {
			return page, err
		}
		for _, m := range got.Members[:min(len(got.Members), size-len(found))] {
			found, position = append(found, m), fmt.Sprintf("%d/%s", from+i, m.RunID)
		}
		switch {
		case len(got.Members) == f.Limit:
			page.Next = position
		case got.Next != "": // the ledger stopped before its limit: it looks at a bounded number of keys
			page.Next = fmt.Sprintf("%d/%s", from+i, got.Next)
		}
		after = ""
		if page.Next != "" {
			break
		}
	}
	page.Members, err = s.membersOf(ctx, found)
	return page, err
}

// groups returns the filters whose members, one after the other, are the list: one for each state. If the query has a
// key, or the beginning of one, there is a single filter for all states, as the ledger finds such members by their run
// IDs.
func (q MemberQuery) groups(parent string) (list []ledger.MemberFilter, err error) {
	states := slices.Clone(q.States)
	for _, st := range states {
		if !slices.Contains(MemberFilterStates, st) {
			return nil, unknownName("state", st, MemberFilterStates...)
		}
	}
	if slices.Contains(states, NotSucceeded) {
		states = append(states, MemberStates[:len(MemberStates)-1]...)
	}
	wanted := slices.DeleteFunc(slices.Clone(MemberStates),
		func(st ledger.State) bool { return len(states) > 0 && !slices.Contains(states, st) })
	f := ledger.MemberFilter{Parent: parent}
	prefix, begins := strings.CutSuffix(q.Key, "*")
	switch {
	case prefix == "":
		for i := range wanted {
			list = append(list, withStates(f, wanted[i:i+1]))
		}
		return list, nil
	case begins:
		f.Prefix = prefix
		err = jobs.CheckMemberKey(prefix + "*")
	default:
		f.RunID, err = jobs.MemberRunID(parent, q.Key)
	}
	if err != nil {
		return nil, refuse(Invalid, "%v", err)
	}
	return []ledger.MemberFilter{withStates(f, wanted)}, nil
}

// withStates adds states to a filter. The ledger does not know NotStarted: such a member is in its parent's list and
// has no row, and Missing selects it.
func withStates(f ledger.MemberFilter, states []ledger.State) ledger.MemberFilter {
	if len(states) == len(MemberStates) {
		return f
	}
	for _, st := range states {
		f.Missing = f.Missing || st == NotStarted
		if st != NotStarted {
			f.States = append(f.States, st)
		}
	}
	return f
}

// selectMembers adds the members that a request selects to a filter. Those that it names by their keys are selected by
// their run IDs.
func (s *Service) selectMembers(ctx context.Context, f *ledger.Filter, a ActionRequest) error {
	f.Parent = a.Parent
	if len(a.Member) == 0 {
		return nil
	}
	if a.Parent == "" {
		return refuse(Invalid, "member names members by their keys, so the run whose members they are (parent) must be given too")
	}
	parent, err := s.parent(ctx, a.Parent)
	if err != nil {
		return err
	}
	ids, err := MemberRunIDs(parent.ID, a.Member)
	f.IDs, f.Parent = append(f.IDs, ids...), ""
	return err
}

// MemberRunIDs returns the run IDs of the members of a run that have these keys.
func MemberRunIDs(parent string, keys []string) (ids []string, err error) {
	for _, key := range keys {
		id, err := jobs.MemberRunID(jobs.CanonicalRunID(parent), key)
		if err != nil {
			return nil, refuse(Invalid, "%v", err)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// parent finds a run that has members.
func (s *Service) parent(ctx context.Context, idOrKey string) (ledger.Run, error) {
	id, err := s.FindRun(ctx, idOrKey)
	if err != nil {
		return ledger.Run{}, err
	}
	runs, err := s.ledger.List(ctx, ledger.Filter{IDs: []string{id}})
	switch {
	case err != nil:
		return ledger.Run{}, err
	case len(runs) == 0:
		return ledger.Run{}, s.notFound(ctx, id, ledger.ErrNotFound)
	case runs[0].Call.Each == nil:
		return ledger.Run{}, refuse(Conflict, "the run %s has no members, because its job has no each", id)
	}
	return runs[0], nil
}

// MemberCounts counts the members of a run by state; nil of a run without a frozen list.
func (s *Service) MemberCounts(ctx context.Context, id string) (map[ledger.State]int, error) {
	all, err := s.ledger.MemberCounts(ctx, []string{id})
	var counts map[ledger.State]int
	for st, n := range all[id] {
		if n > 0 {
			if counts == nil {
				counts = map[ledger.State]int{}
			}
			counts[cmp.Or(st, NotStarted)] = n
		}
	}
	return counts, err
}

// membersOf turns members into those of the API, with the last error of each that has not succeeded.
func (s *Service) membersOf(ctx context.Context, list []ledger.MemberRun) ([]Member, error) {
	members, failed := make([]Member, len(list)), []string(nil)
	for i, m := range list {
		v := Member{Key: m.Key, RunID: m.RunID, State: NotStarted}
		if m.Run != nil {
			r := RunOf(ctx, *m.Run)
			v.State, v.Reason, v.Attempts, v.Status = r.State, r.Reason, r.Attempts, r.Status
			v.NextAt, v.StartedAt, v.FinishedAt, v.AckedAt = r.NextAt, r.StartedAt, r.FinishedAt, r.AckedAt
			if r.Attempts > 0 && r.State != ledger.Succeeded {
				failed = append(failed, r.RunID)
			}
		}
		members[i] = v
	}
	if len(failed) == 0 {
		return members, nil
	}
	attempts, err := s.ledger.LastAttempts(ctx, failed)
	for i := range members {
		last := attempts[members[i].RunID]
		members[i].Error, members[i].ErrorCode = last.Error, last.Code
	}
	return members, err
}

// exportMembers reads a page of members; see exportPage.
func (s *Service) exportMembers(ctx context.Context, e *Export) (page []any, more bool, err error) {
	got, err := s.Members(ctx, e.Members)
	for _, m := range got.Members {
		page = append(page, m)
	}
	e.Members.After = got.Next
	return page, got.Next != "", err
}

// whyMember explains what became of a member of a run.
func (s *Service) whyMember(ctx context.Context, v Explanation, parent ledger.Run, key string) (Explanation, error) {
	v.Member = key
	switch {
	case parent.Call.Each == nil:
		return v, refuse(Conflict, "the run %s has no members, because its job has no each; leave out the member", parent.ID)
	case !parent.Fan.Frozen():
		v.Verdict, v.Text = NotPlanned, "The list of members was not fetched. "+v.Text
		return v, nil
	}
	id, err := jobs.MemberRunID(parent.ID, key)
	if err != nil {
		return v, refuse(Invalid, "%v", err)
	}
	got, err := s.ledger.Members(ctx, ledger.MemberFilter{Parent: parent.ID, RunID: id})
	switch {
	case err != nil:
		return v, err
	case len(got.Members) == 0:
		v.Verdict, v.Text = NotInList, fmt.Sprintf("The list of %s, with %d members, does not have %q.", parent.ID, parent.Fan.Members, key)
		return v, nil
	case got.Members[0].Run == nil:
		v.Verdict, v.Text = NotPlanned, "It is in the list, and no run was made for it yet. "+v.Text
		return v, nil
	}
	run, attempts, err := s.ledger.Get(ctx, id)
	if err != nil {
		return v, err
	}
	if err := s.AddWaiting(ctx, &run); err != nil {
		return v, err
	}
	r := RunOf(ctx, run)
	v.Run, v.Text = &r, Sentence(run, attempts)
	return v, nil
}
