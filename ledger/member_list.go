package ledger

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/cronce/cronce/internal/plaintext"
)

// MemberFilter selects a page of a parent's members, by run ID.
type MemberFilter struct {
	Parent string
	// States selects members whose run is in one of them, and Missing those that no run was
	// made for yet. Without both, all members of the frozen list are selected.
	States  []State
	Missing bool
	// Prefix selects members whose key begins with it. Those whose key is in their run ID come
	// first, then those with a hash.
	Prefix string
	RunID  string // selects this member alone
	After  string // continues after this run ID
	Limit  int    // below 1: 100
}

// MemberPage is a page of a parent's members.
type MemberPage struct {
	Members []MemberRun // may be fewer than Limit, even none, before the last page
	Next    string      // where to continue; "": there are no more
}

// MemberRun is a member, and its run; nil: no run was made yet.
type MemberRun struct {
	Member
	Run *Run
}

const (
	// membersAtOnce is the number of members that one query reads.
	membersAtOnce = 2000
	// membersScanned bounds the members that are read for one page.
	membersScanned = 5_000
)

// Members lists members of a parent. See MemberFilter.
func (l *Ledger) Members(ctx context.Context, f MemberFilter) (MemberPage, error) {
	f.Limit = pageSize(f.Limit, math.MaxInt)
	return read(ctx, l, "members of "+f.Parent, func(tx Tx) (page MemberPage, err error) {
		m := memberPage{MemberFilter: f, tx: tx}
		switch {
		case f.RunID != "":
			err = m.readOne()
		case f.Prefix != "":
			err = m.withPrefix()
		case len(f.States) > 0 && !f.Missing && !slices.Contains(f.States, Succeeded):
			return m.byState()
		case f.Missing && len(f.States) == 0:
			err = m.missing()
		default:
			err = m.read(MemberQuery{After: f.After, All: true})
		}
		if err != nil || len(m.found) == 0 {
			return MemberPage{Next: m.next}, err
		}
		return m.result()
	})
}

// memberPage is a page in the making. Each way to find members (by state, by key, one alone) adds
// to found, and sets next if there may be more.
type memberPage struct {
	MemberFilter
	tx      Tx
	found   []MemberState
	scanned int
	next    string
}

// byState reads the runs of members that have not succeeded, which have an index.
func (m *memberPage) byState() (page MemberPage, err error) {
	rows, err := m.tx.Runs(Filter{Parent: m.Parent, States: m.States, AfterID: m.After, Limit: m.Limit}).Get()
	for i := range rows {
		m.found = append(m.found, MemberState{Member: Member{RunID: rows[i].ID, Key: rows[i].Call.MemberKey}})
	}
	if len(rows) == m.Limit {
		m.next = rows[len(rows)-1].ID
	}
	return MemberPage{withRuns(m.found, rows), m.next}, err
}

// missing reads members without a run. Runs are made in the order of the list.
func (m *memberPage) missing() error {
	parents, err := m.tx.Find([]string{m.Parent}).Get()
	if err != nil || len(parents) == 0 {
		return err
	}
	fan := parents[0].Fan
	if fan.Released >= fan.Members {
		return nil
	}
	return m.read(MemberQuery{After: max(m.After, fan.ReleasedThrough)})
}

// readOne reads one member.
func (m *memberPage) readOne() error {
	last := len(m.RunID) - 1
	err := m.read(MemberQuery{After: m.RunID[:last] + string(m.RunID[last]-1), Below: m.RunID + " ", All: true})
	m.next = ""
	return err
}

// withPrefix reads members by the beginning of their keys, which run IDs have, or else a hash.
func (m *memberPage) withPrefix() error {
	job, _, _ := cutID(m.Parent)
	start := job + memberMark + m.Prefix
	hashes, after := job+memberMark+"_", m.After
	if !strings.HasPrefix(after, hashes) {
		if plaintext.VisibleASCII(m.Prefix) && m.Prefix[0] != '_' {
			err := m.read(MemberQuery{After: max(start, after), Below: start + "\x7f", Prefix: m.Prefix, All: true})
			if err != nil || m.next != "" {
				return err
			}
		}
		after = hashes
	}
	return m.read(MemberQuery{After: after, Below: job + memberMark + "`", Prefix: m.Prefix, All: true})
}

// read adds members that the filter selects, until the page is full, or too many were read.
func (m *memberPage) read(q MemberQuery) error {
	q.Parent, q.Limit = m.Parent, membersAtOnce
	if len(m.States) == 0 {
		q.Limit = min(q.Limit, m.Limit)
	}
	for {
		list, err := m.tx.SelectMembers(q).Get()
		if err != nil {
			return err
		}
		m.scanned += len(list)
		for _, s := range list {
			q.After = s.RunID
			if m.selects(s.State) {
				m.found = append(m.found, s)
			}
			if len(m.found) == m.Limit {
				m.next = q.After
				return nil
			}
		}
		if len(list) < q.Limit {
			return nil
		}
		if m.scanned >= membersScanned {
			m.next = q.After
			return nil
		}
	}
}

// selects reports whether the filter has the state of a member; "" is that of a member without a
// run.
func (m *memberPage) selects(s State) bool {
	switch {
	case len(m.States) == 0 && !m.Missing:
		return true
	case s == "":
		return m.Missing
	}
	return slices.Contains(m.States, s)
}

// result reads the runs of the members that were found.
func (m *memberPage) result() (MemberPage, error) {
	ids := make([]string, len(m.found))
	for i := range m.found {
		ids[i] = m.found[i].RunID
	}
	rows, err := m.tx.Runs(Filter{IDs: ids}).Get()
	return MemberPage{withRuns(m.found, rows), m.next}, err
}

// withRuns adds the runs to members, without the bodies that they send.
func withRuns(list []MemberState, rows []Row) []MemberRun {
	byID := make(map[string]*Row, len(rows))
	for i := range rows {
		byID[rows[i].ID] = &rows[i]
	}
	members := make([]MemberRun, len(list))
	for i, m := range list {
		members[i].Member = m.Member
		if r := byID[m.RunID]; r != nil {
			run := r.listed()
			members[i].Run = &run
		}
	}
	return members
}

// MemberCounts counts the members of parents by state; those that no run was made for yet
// have the state "".
func (l *Ledger) MemberCounts(ctx context.Context, parents []string) (map[string]map[State]int, error) {
	if len(parents) == 0 {
		return map[string]map[State]int{}, nil
	}
	return read(ctx, l, "count members", func(tx Tx) (map[string]map[State]int, error) {
		rows, err := tx.Runs(Filter{IDs: parents}).Get()
		byParent := map[string]map[State]int{}
		var open []string
		for i := range rows {
			if f := rows[i].Fan; f.Frozen() {
				if !rows[i].State.Finished() {
					open = append(open, rows[i].ID)
					f.Failed, f.Canceled = 0, 0 // of an earlier end
				}
				byParent[rows[i].ID] = f.counts()
			}
		}
		if len(open) == 0 || err != nil {
			return byParent, err
		}
		failedFuture := tx.CountFailed(open)
		unfinished, err := tx.CountMembers(open, Claimable).Get()
		if err != nil {
			return nil, err
		}
		failed, err := failedFuture.Get()
		for _, c := range failed {
			unfinished = append(unfinished, MemberCount{c.Parent, c.State, c.Count})
		}
		for _, c := range unfinished {
			byParent[c.Parent][c.State] += c.Count
			byParent[c.Parent][Succeeded] -= c.Count
		}
		return byParent, err
	})
}
