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
func (b *fixture) freeze(l ledger.Lease, first bool, names ...string) {
	b.Helper()
	got, err := b.FreezeMembers(b.ctx, ledger.Freeze{Lease: l, First: first, Members: membersOf(l.RunID, names...)})
	b.must(err)
	if got != ledger.Recorded {
		b.Fatalf("freeze: %s", got)
	}
}

// fanOut freezes a list and records that the parent has fanned out.
func (b *fixture) fanOut(l ledger.Lease, names ...string) {
	b.Helper()
	b.freeze(l, true, names...)
	b.record(ledger.Outcome{
		Lease: l, State: ledger.FannedOut, Members: len(names),
		Attempt: ledger.Attempt{RunID: l.RunID, N: b.get(l.RunID).Attempt, Answer: ledger.AnswerFresh, Status: 200},
	})
}

// release leases up to limit members.
func (b *fixture) release(limit int, parents ...string) ledger.Released {
	b.Helper()
	got, err := b.Store.ReleaseMembers(b.ctx, ledger.ReleaseRequest{
		Process: "p1", Token: b.token(), Limit: limit, LeaseFor: lease, Parents: parents,
		Call: func(c ledger.CallSpec, m ledger.Member) ledger.CallSpec {
			c.Path, c.MemberKey = "/v1/tenants/"+m.Key, m.Key
			return c
		},
	})
	b.must(err)
	return got
}

// recordAll records outcomes of members.
func (b *fixture) recordAll(state ledger.State, work ...ledger.Work) {
	b.Helper()
	for _, w := range work {
		o := ledger.Outcome{Lease: leaseOf(w), State: state,
			Attempt: ledger.Attempt{RunID: w.RunID, N: w.Attempt, Answer: ledger.AnswerFresh, Status: 200}}
		if state == ledger.Dead {
			o.Reason, o.Attempt.Status, o.Attempt.Answer, o.Attempt.Error = ledger.ReasonPermanent, 404, ledger.AnswerRefused, "HTTP 404"
		}
		b.record(o)
	}
}

// fannedOut is a parent that has released all of its members.
func (b *fixture) fannedOut(names ...string) (parent string, work map[string]ledger.Work) {
	b.Helper()
	j := b.job("j")
	l := j.parent(0, 0)
	b.fanOut(l, names...)
	work = map[string]ledger.Work{}
	for _, w := range b.release(100, l.RunID).Work {
		name, _, _ := strings.Cut(strings.TrimPrefix(w.RunID, "j::"), "@")
		work[name] = w
	}
	if len(work) != len(names) {
		b.Fatalf("released %v", work)
	}
	return l.RunID, work
}

// counts are the counts of a parent's members that are not 0.
func (b *fixture) counts(parent string) map[ledger.State]int {
	b.Helper()
	got, err := b.MemberCounts(b.ctx, []string{parent})
	b.must(err)
	counts := map[ledger.State]int{}
	for s, n := range got[parent] {
		if n != 0 {
			counts[s] = n
		}
	}
	return counts
}

func (b *fixture) wantCounts(parent string, want map[ledger.State]int) {
	b.Helper()
	if got := b.counts(parent); fmt.Sprint(got) != fmt.Sprint(want) {
		b.Errorf("members of %s: %v, want %v", parent, got, want)
	}
}

var memberCases = []testCase{
	{"a member is released once, with its own call, and leased at once", func(b *fixture) {
		j := b.job("j")
		l := j.parent(0, 0)
		b.freeze(l, true, "a", "b")
		if got := b.release(10, l.RunID); len(got.Work) != 0 || len(got.Parents) != 0 {
			b.Errorf("released before the list is final: %+v", got)
		}
		b.fanOut(l, "a", "b")
		b.wantState(l.RunID, ledger.FannedOut, "")
		b.wantCounts(l.RunID, map[ledger.State]int{"": 2})
		got := b.release(1)
		if len(got.Work) != 1 || len(got.More) != 1 {
			b.Fatalf("released %+v", got)
		}
		w := got.Work[0]
		want := callOf("j")
		want.Path, want.MemberKey, want.MaxInFlight = "/v1/tenants/key of a", "key of a", 0
		b.sameWork([]ledger.Work{w}, []ledger.Work{{
			RunID: memberID(l.RunID, "a"), JobID: "j", Parent: l.RunID, ScheduledAt: j.at(0), Trigger: ledger.BySchedule, Attempt: 1,
			SendBefore: got.Now.Add(horizon), KeySafeUntil: got.Now.Add(horizon), LeasedUntil: got.Now.Add(lease), Token: w.Token, Call: want,
		}})
		r := b.wantState(w.RunID, ledger.Running, "")
		if r.Parent != l.RunID || r.JobID != "j" || string(r.Call.Body) != string(want.Body) {
			b.Errorf("row %+v", r)
		}
		if next := b.release(10, l.RunID); len(next.Work) != 1 || next.Work[0].RunID != memberID(l.RunID, "b") {
			b.Errorf("then %+v", next.Work)
		}
		if again := b.release(10, l.RunID); len(again.Work) != 0 {
			b.Errorf("again %+v", again.Work)
		}
		b.wantCounts(l.RunID, map[ledger.State]int{ledger.Running: 2})
	}},
	{"a parent succeeds when all members have, and gives its slot back", func(b *fixture) {
		parent, work := b.fannedOut("a", "b")
		b.recordAll(ledger.Succeeded, work["a"])
		b.release(0, parent)
		b.wantState(parent, ledger.FannedOut, "")
		b.recordAll(ledger.Succeeded, work["b"])
		if got := b.release(0, parent); len(got.Parents) != 1 || got.Parents[0].State != ledger.Succeeded {
			b.Errorf("%+v", got)
		}
		r := b.wantState(parent, ledger.Succeeded, "")
		if r.FinishedAt.IsZero() || r.Fan.Members != 2 || r.Fan.Released != 2 {
			b.Errorf("%+v", r)
		}
		b.wantCounts(parent, map[ledger.State]int{ledger.Succeeded: 2})
		b.advance(2 * time.Minute)
		next := b.now("j")
		if got := next.admit(next.leased(0, ledger.OverlapSkip)); len(got.Leased) != 1 {
			b.Errorf("the slot is taken: %+v", got)
		}
	}},
	{"a parent with a failed member is dead, with one incident that counts the members", func(b *fixture) {
		parent, work := b.fannedOut("a", "b", "c")
		b.recordAll(ledger.Dead, work["a"], work["b"])
		if open, err := b.Incidents(b.ctx, ledger.IncidentFilter{Open: true}); err != nil || len(open) != 0 {
			b.Errorf("a member's incident: %+v %v", open, err)
		}
		b.recordAll(ledger.Succeeded, work["c"])
		b.release(0, parent)
		b.wantState(parent, ledger.Dead, ledger.ReasonMembers)
		open, err := b.Incidents(b.ctx, ledger.IncidentFilter{Open: true})
		b.must(err)
		if len(open) != 1 || open[0].JobID != "j" || open[0].RunID != parent || open[0].Count != 2 || open[0].Error != "2 of 3 members failed" {
			b.Errorf("incidents %+v", open)
		}
	}},
	{"inFlight bounds the members that are running, over all processes", func(b *fixture) {
		j := b.job("j")
		l := j.parent(0, 2)
		b.fanOut(l, "a", "b", "c")
		got := b.release(10, l.RunID)
		if len(got.Work) != 2 || got.Work[0].Call.MaxInFlight != 2 {
			b.Fatalf("released %+v", got.Work)
		}
		if more, err := b.secondReplica().ReleaseMembers(b.ctx, ledger.ReleaseRequest{Process: "p2", Token: "t2", Limit: 10, LeaseFor: lease, Parents: []string{l.RunID},
			Call: func(c ledger.CallSpec, _ ledger.Member) ledger.CallSpec { return c }}); err != nil || len(more.Work) != 0 {
			b.Errorf("another process: %+v %v", more.Work, err)
		}
		b.record(ledger.Outcome{Lease: leaseOf(got.Work[0]), State: ledger.Retrying, Wait: time.Hour, Failures: 1,
			Attempt: ledger.Attempt{RunID: got.Work[0].RunID, N: 1, Answer: ledger.AnswerFailed, Status: 500}})
		if more := b.release(10, l.RunID); len(more.Work) != 1 {
			b.Errorf("a member that waits for its retry holds up the others: %+v", more.Work)
		}
	}},
	{"no more than MaxOpenMembers members are unfinished", func(b *fixture) {
		j := b.job("j")
		l := j.parent(0, 0)
		names := make([]string, ledger.MaxOpenMembers+1)
		for i := range names {
			names[i] = fmt.Sprintf("m%05d", i)
		}
		b.fanOut(l, names...)
		got := b.release(2*ledger.MaxOpenMembers, l.RunID)
		if len(got.Work) != ledger.MaxOpenMembers || len(b.release(10, l.RunID).Work) != 0 {
			b.Fatalf("released %d", len(got.Work))
		}
		b.recordAll(ledger.Succeeded, got.Work[0])
		if got = b.release(10, l.RunID); len(got.Work) != 1 || len(got.More) != 0 {
			b.Errorf("then %d, more %v", len(got.Work), got.More)
		}
	}},
	{"the parts of a lost lease change nothing, and the next attempt deletes what they left", func(b *fixture) {
		j := b.job("j")
		lost := j.parent(0, 0)
		b.freeze(lost, true, "old")
		b.advance(2 * lease)
		held := leaseOf(b.claimOne("p2", lost.RunID))
		if got, err := b.FreezeMembers(b.ctx, ledger.Freeze{Lease: lost, Members: membersOf(lost.RunID, "late")}); err != nil ||
			got != ledger.Fenced {
			b.Errorf("%s %v", got, err)
		}
		b.fanOut(held, "new")
		b.wantFrozen(held)
		if got := b.release(10, lost.RunID); len(got.Work) != 1 || got.Work[0].RunID != memberID(lost.RunID, "new") {
			b.Errorf("released %+v", got.Work)
		}
	}},
	{"members are the parent's, and have a run ID that a header can have", func(b *fixture) {
		j := b.job("j")
		l := j.parent(0, 0)
		for _, id := range []string{"j@2026-11-01T03:00:00Z", memberID(runID("j", j.at(5)), "a"), memberID(l.RunID, "a b"),
			memberID(l.RunID, strings.Repeat("x", 128))} {
			if _, err := b.FreezeMembers(b.ctx, ledger.Freeze{Lease: l,
				Members: []ledger.Member{{RunID: id, Key: "k"}}}); !errors.Is(err, ledger.ErrInvalidRun) {
				b.Errorf("%s: %v", id, err)
			}
		}
	}},
	{"lists, counts and hours have parents alone", func(b *fixture) {
		parent, work := b.fannedOut("a", "b")
		b.recordAll(ledger.Dead, work["a"])
		for _, f := range []ledger.Filter{{}, {JobID: "j"}, {States: []ledger.State{ledger.Dead, ledger.FannedOut}}} {
			runs, err := b.List(b.ctx, f)
			b.must(err)
			if len(runs) != 1 || runs[0].ID != parent {
				b.Errorf("%+v: %v", f, runs)
			}
		}
		counts, err := b.Counts(b.ctx)
		b.must(err)
		if counts.DeadUnacknowledged != 0 || counts.Unfinished[ledger.FannedOut] != 1 || counts.Unfinished[ledger.Running] != 0 {
			b.Errorf("counts %+v", counts)
		}
		jobs, err := b.Jobs(b.ctx, "j")
		b.must(err)
		if len(jobs) != 1 || jobs[0].LastRun == nil || jobs[0].LastRun.ID != parent || jobs[0].DeadUnacknowledged != 0 {
			b.Errorf("jobs %+v", jobs)
		}
		at := b.get(parent).ScheduledAt
		hours, err := b.Hours(b.ctx, "", at.Add(-time.Hour), at.Add(time.Hour))
		b.must(err)
		n := 0
		for _, h := range hours {
			for _, count := range h.ByState() {
				n += count
			}
		}
		if n != 1 {
			b.Errorf("hours %+v", hours)
		}
	}},
}

// wantFrozen fails if a list that is final takes another part.
func (b *fixture) wantFrozen(l ledger.Lease) {
	b.Helper()
	if got, err := b.FreezeMembers(b.ctx, ledger.Freeze{Lease: l, Members: membersOf(l.RunID, "more")}); err != nil || got != ledger.Fenced {
		b.Errorf("a final list takes a part: %s %v", got, err)
	}
}
