package ledgertest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

// parent admits a run with members, which is leased, and returns its lease.
func (j *job) parent(i, inFlight int) ledger.Lease {
	j.Helper()
	in := j.leased(i, ledger.OverlapSkip)
	in.Call.Each = &ledger.Each{Path: "/v1/tenants", Items: "id", Max: 1000, InFlight: inFlight}
	in.Call.StartWithin, in.Call.FinishWithin = 0, 0
	got := j.admit(in)
	if len(got.Leased) != 1 {
		j.Fatalf("leased %+v", got)
	}
	return leaseOf(got.Leased[0])
}

func leaseOf(w ledger.Work) ledger.Lease { return ledger.Lease{RunID: w.RunID, Token: w.Token} }

func memberID(parent, name string) string {
	job, at, _ := strings.Cut(parent, "@")
	return job + "::" + name + "@" + at
}

// membersOf makes members of names.
func membersOf(parent string, names ...string) (list []ledger.Member) {
	for _, name := range names {
		list = append(list, ledger.Member{RunID: memberID(parent, name), Key: "key of " + name})
	}
	return list
}

// freeze writes a part of a list, which has to be taken.
func (t *fixture) freeze(l ledger.Lease, first bool, names ...string) {
	t.Helper()
	got, err := t.FreezeMembers(t.ctx, ledger.Freeze{Lease: l, First: first, Members: membersOf(l.RunID, names...)})
	t.must(err)
	if got != ledger.Recorded {
		t.Fatalf("freeze: %s", got)
	}
}

// fanOut freezes a list and records that the parent has fanned out.
func (t *fixture) fanOut(l ledger.Lease, names ...string) {
	t.Helper()
	t.freeze(l, true, names...)
	t.record(ledger.Outcome{
		Lease: l, State: ledger.FannedOut, Members: len(names),
		Attempt: ledger.Attempt{RunID: l.RunID, N: t.get(l.RunID).Attempt, Answer: ledger.AnswerFresh, Status: 200},
	})
}

// release leases up to limit members.
func (t *fixture) release(limit int, parents ...string) ledger.Released {
	t.Helper()
	got, err := t.Store.ReleaseMembers(t.ctx, ledger.ReleaseRequest{
		Process: "p1", Token: t.token(), Limit: limit, LeaseFor: lease, Parents: parents,
		Call: func(c ledger.CallSpec, m ledger.Member) ledger.CallSpec {
			c.Path, c.MemberKey = "/v1/tenants/"+m.Key, m.Key
			return c
		},
	})
	t.must(err)
	return got
}

// recordAll records outcomes of members.
func (t *fixture) recordAll(state ledger.State, work ...ledger.Work) {
	t.Helper()
	for _, w := range work {
		o := ledger.Outcome{Lease: leaseOf(w), State: state,
			Attempt: ledger.Attempt{RunID: w.RunID, N: w.Attempt, Answer: ledger.AnswerFresh, Status: 200}}
		if state == ledger.Dead {
			o.Reason, o.Attempt.Status, o.Attempt.Answer, o.Attempt.Error = ledger.ReasonPermanent, 404, ledger.AnswerRefused, "HTTP 404"
		}
		t.record(o)
	}
}

// fannedOut returns a parent that has released all of its members.
func (t *fixture) fannedOut(names ...string) (parent string, work map[string]ledger.Work) {
	t.Helper()
	j := t.job("j")
	l := j.parent(0, 0)
	t.fanOut(l, names...)
	work = map[string]ledger.Work{}
	for _, w := range t.release(100, l.RunID).Work {
		name, _, _ := strings.Cut(strings.TrimPrefix(w.RunID, "j::"), "@")
		work[name] = w
	}
	if len(work) != len(names) {
		t.Fatalf("released %v", work)
	}
	return l.RunID, work
}

// counts returns the counts of a parent's members that are not 0.
func (t *fixture) counts(parent string) map[ledger.State]int {
	t.Helper()
	got, err := t.MemberCounts(t.ctx, []string{parent})
	t.must(err)
	counts := map[ledger.State]int{}
	for s, n := range got[parent] {
		if n != 0 {
			counts[s] = n
		}
	}
	return counts
}

func (t *fixture) wantCounts(parent string, want map[ledger.State]int) {
	t.Helper()
	if got := t.counts(parent); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("members of %s: %v, want %v", parent, got, want)
	}
}

var memberCases = []testCase{
	{"a member is released once, with its own call, and leased at once", func(t *fixture) {
		j := t.job("j")
		l := j.parent(0, 0)
		t.freeze(l, true, "a", "b")
		if got := t.release(10, l.RunID); len(got.Work) != 0 || len(got.Parents) != 0 {
			t.Errorf("released before the list is final: %+v", got)
		}
		t.fanOut(l, "a", "b")
		t.wantState(l.RunID, ledger.FannedOut, "")
		t.wantCounts(l.RunID, map[ledger.State]int{"": 2})
		got := t.release(1)
		if len(got.Work) != 1 || len(got.More) != 1 {
			t.Fatalf("released %+v", got)
		}
		w := got.Work[0]
		want := callOf("j")
		want.Path, want.MemberKey, want.MaxInFlight = "/v1/tenants/key of a", "key of a", 0
		t.sameWork([]ledger.Work{w}, []ledger.Work{{
			RunID: memberID(l.RunID, "a"), JobID: "j", Parent: l.RunID, ScheduledAt: j.at(0), Trigger: ledger.BySchedule, Attempt: 1,
			SendBefore: got.Now.Add(horizon), KeySafeUntil: got.Now.Add(horizon), LeasedUntil: got.Now.Add(lease), Token: w.Token, Call: want,
		}})
		r := t.wantState(w.RunID, ledger.Running, "")
		if r.Parent != l.RunID || r.JobID != "j" || string(r.Call.Body) != string(want.Body) {
			t.Errorf("row %+v", r)
		}
		if next := t.release(10, l.RunID); len(next.Work) != 1 || next.Work[0].RunID != memberID(l.RunID, "b") {
			t.Errorf("then %+v", next.Work)
		}
		if again := t.release(10, l.RunID); len(again.Work) != 0 {
			t.Errorf("again %+v", again.Work)
		}
		t.wantCounts(l.RunID, map[ledger.State]int{ledger.Running: 2})
	}},
	{"a parent succeeds when all members have, and gives its slot back", func(t *fixture) {
		parent, work := t.fannedOut("a", "b")
		t.recordAll(ledger.Succeeded, work["a"])
		t.release(0, parent)
		t.wantState(parent, ledger.FannedOut, "")
		t.recordAll(ledger.Succeeded, work["b"])
		if got := t.release(0, parent); len(got.Parents) != 1 || got.Parents[0].State != ledger.Succeeded {
			t.Errorf("%+v", got)
		}
		r := t.wantState(parent, ledger.Succeeded, "")
		if r.FinishedAt.IsZero() || r.Fan.Members != 2 || r.Fan.Released != 2 {
			t.Errorf("%+v", r)
		}
		t.wantCounts(parent, map[ledger.State]int{ledger.Succeeded: 2})
		t.advance(2 * time.Minute)
		next := t.now("j")
		if got := next.admit(next.leased(0, ledger.OverlapSkip)); len(got.Leased) != 1 {
			t.Errorf("the slot is taken: %+v", got)
		}
	}},
	{"a parent with a failed member is dead, with one incident that counts the members", func(t *fixture) {
		parent, work := t.fannedOut("a", "b", "c")
		t.recordAll(ledger.Dead, work["a"], work["b"])
		if open, err := t.Incidents(t.ctx, ledger.IncidentFilter{Open: true}); err != nil || len(open) != 0 {
			t.Errorf("a member's incident: %+v %v", open, err)
		}
		t.recordAll(ledger.Succeeded, work["c"])
		t.release(0, parent)
		t.wantState(parent, ledger.Dead, ledger.ReasonMembers)
		open, err := t.Incidents(t.ctx, ledger.IncidentFilter{Open: true})
		t.must(err)
		if len(open) != 1 || open[0].JobID != "j" || open[0].RunID != parent || open[0].Count != 2 || open[0].Error != "2 of 3 members failed" {
			t.Errorf("incidents %+v", open)
		}
	}},
	{"inFlight bounds the members that are running, over all processes", func(t *fixture) {
		j := t.job("j")
		l := j.parent(0, 2)
		t.fanOut(l, "a", "b", "c")
		got := t.release(10, l.RunID)
		if len(got.Work) != 2 || got.Work[0].Call.MaxInFlight != 2 {
			t.Fatalf("released %+v", got.Work)
		}
		if more, err := t.secondReplica().ReleaseMembers(t.ctx, ledger.ReleaseRequest{Process: "p2", Token: "t2", Limit: 10, LeaseFor: lease, Parents: []string{l.RunID},
			Call: func(c ledger.CallSpec, _ ledger.Member) ledger.CallSpec { return c }}); err != nil || len(more.Work) != 0 {
			t.Errorf("another process: %+v %v", more.Work, err)
		}
		t.record(ledger.Outcome{Lease: leaseOf(got.Work[0]), State: ledger.Retrying, Wait: time.Hour, Failures: 1,
			Attempt: ledger.Attempt{RunID: got.Work[0].RunID, N: 1, Answer: ledger.AnswerFailed, Status: 500}})
		if more := t.release(10, l.RunID); len(more.Work) != 1 {
			t.Errorf("a member that waits for its retry holds up the others: %+v", more.Work)
		}
	}},
	{"no more than MaxOpenMembers members are unfinished", func(t *fixture) {
		j := t.job("j")
		l := j.parent(0, 0)
		names := make([]string, ledger.MaxOpenMembers+1)
		for i := range names {
			names[i] = fmt.Sprintf("m%05d", i)
		}
		t.fanOut(l, names...)
		got := t.release(2*ledger.MaxOpenMembers, l.RunID)
		if len(got.Work) != ledger.MaxOpenMembers || len(t.release(10, l.RunID).Work) != 0 {
			t.Fatalf("released %d", len(got.Work))
		}
		t.recordAll(ledger.Succeeded, got.Work[0])
		if got = t.release(10, l.RunID); len(got.Work) != 1 || len(got.More) != 0 {
			t.Errorf("then %d, more %v", len(got.Work), got.More)
		}
	}},
	{"the parts of a lost lease change nothing, and the next attempt deletes what they left", func(t *fixture) {
		j := t.job("j")
		lost := j.parent(0, 0)
		t.freeze(lost, true, "old")
		t.advance(2 * lease)
		held := leaseOf(t.claimOne("p2", lost.RunID))
		if got, err := t.FreezeMembers(t.ctx, ledger.Freeze{Lease: lost, Members: membersOf(lost.RunID, "late")}); err != nil ||
			got != ledger.Fenced {
			t.Errorf("%s %v", got, err)
		}
		t.fanOut(held, "new")
		t.wantFrozen(held)
		if got := t.release(10, lost.RunID); len(got.Work) != 1 || got.Work[0].RunID != memberID(lost.RunID, "new") {
			t.Errorf("released %+v", got.Work)
		}
	}},
	{"members are the parent's, and have a run ID that a header can have", func(t *fixture) {
		j := t.job("j")
		l := j.parent(0, 0)
		for _, id := range []string{"j@2026-11-01T03:00:00Z", memberID(runID("j", j.at(5)), "a"), memberID(l.RunID, "a b"),
			memberID(l.RunID, strings.Repeat("x", 128))} {
			if _, err := t.FreezeMembers(t.ctx, ledger.Freeze{Lease: l,
				Members: []ledger.Member{{RunID: id, Key: "k"}}}); !errors.Is(err, ledger.ErrInvalidRun) {
				t.Errorf("%s: %v", id, err)
			}
		}
	}},
	{"lists, counts and hours have parents alone", func(t *fixture) {
		parent, work := t.fannedOut("a", "b")
		t.recordAll(ledger.Dead, work["a"])
		for _, f := range []ledger.Filter{{}, {JobID: "j"}, {States: []ledger.State{ledger.Dead, ledger.FannedOut}}} {
			runs, err := t.List(t.ctx, f)
			t.must(err)
			if len(runs) != 1 || runs[0].ID != parent {
				t.Errorf("%+v: %v", f, runs)
			}
		}
		counts, err := t.Counts(t.ctx)
		t.must(err)
		if counts.DeadUnacknowledged != 0 || counts.Unfinished[ledger.FannedOut] != 1 || counts.Unfinished[ledger.Running] != 0 {
			t.Errorf("counts %+v", counts)
		}
		jobs, err := t.Jobs(t.ctx, "j")
		t.must(err)
		if len(jobs) != 1 || jobs[0].LastRun == nil || jobs[0].LastRun.ID != parent || jobs[0].DeadUnacknowledged != 0 {
			t.Errorf("jobs %+v", jobs)
		}
		at := t.get(parent).ScheduledAt
		hours, err := t.Hours(t.ctx, "", at.Add(-time.Hour), at.Add(time.Hour))
		t.must(err)
		n := 0
		for _, h := range hours {
			for _, count := range h.ByState() {
				n += count
			}
		}
		if n != 1 {
			t.Errorf("hours %+v", hours)
		}
	}},
}

// wantFrozen fails if a list that is final takes another part.
func (t *fixture) wantFrozen(l ledger.Lease) {
	t.Helper()
	if got, err := t.FreezeMembers(t.ctx, ledger.Freeze{Lease: l, Members: membersOf(l.RunID, "more")}); err != nil || got != ledger.Fenced {
		t.Errorf("a final list takes a part: %s %v", got, err)
	}
}
