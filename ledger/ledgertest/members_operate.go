package ledgertest

import (
	"fmt"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

// newFailedParent returns a dead parent of which the member a failed, and b succeeded.
func (t *fixture) newFailedParent() (parent, member string) {
	t.Helper()
	parent, work := t.fannedOut("a", "b")
	t.recordAll(ledger.Dead, work["a"])
	t.recordAll(ledger.Succeeded, work["b"])
	t.release(0, parent)
	t.wantState(parent, ledger.Dead, ledger.ReasonMembers)
	return parent, work["a"].RunID
}

// fanOutAgain claims a parent whose list is frozen, and records that it has fanned out.
func (t *fixture) fanOutAgain(parent string) {
	t.Helper()
	w := t.claimOne("p1", parent)
	if !w.Frozen {
		t.Fatalf("not frozen: %+v", w)
	}
	t.record(ledger.Outcome{Lease: leaseOf(w), State: ledger.FannedOut})
	t.wantState(parent, ledger.FannedOut, "")
}

var memberOperateCases = []testCase{
	{"a redrive of a parent makes its failed members due again, and no other", func(t *fixture) {
		parent, member := t.newFailedParent()
		attempt := t.get(parent).Attempt
		t.wantChanged(t.Redrive(t.ctx, actionOn(parent)))(parent)
		t.wantState(member, ledger.Dead, ledger.ReasonPermanent)
		t.fanOutAgain(parent)
		if r := t.get(parent); r.Attempt != attempt || len(t.history(parent)) != 1 {
			t.Errorf("attempt %d, history %+v: nothing was sent", r.Attempt, t.history(parent))
		}
		if got := t.release(10, parent); len(got.Work) != 0 {
			t.Errorf("released %+v", got.Work)
		}
		t.wantCounts(parent, map[ledger.State]int{ledger.Retrying: 1, ledger.Succeeded: 1})
		w := t.claimOne("p1", member)
		t.recordAll(ledger.Dead, w)
		t.release(10, parent)
		t.wantState(parent, ledger.Dead, ledger.ReasonMembers)
		t.wantState(member, ledger.Dead, ledger.ReasonPermanent)
	}},
	{"a redrive of a parent leaves acknowledged members, and those whose key is forgotten", func(t *fixture) {
		parent, member := t.newFailedParent()
		t.wantChanged(t.Ack(t.ctx, actionOn(member)))(member)
		t.wantChanged(t.Redrive(t.ctx, actionOn(parent)))(parent)
		t.fanOutAgain(parent)
		t.release(10, parent)
		t.wantState(member, ledger.Dead, ledger.ReasonPermanent)
		t.wantState(parent, ledger.Dead, ledger.ReasonMembers)
		t.advance(2 * horizon)
		t.wantChanged(t.Redrive(t.ctx, actionOn(parent)))(parent)
		t.fanOutAgain(parent)
		t.release(10, parent)
		t.wantState(parent, ledger.Dead, ledger.ReasonMembers)
	}},
	{"a member is redriven by itself, and its parent works on", func(t *fixture) {
		parent, member := t.newFailedParent()
		t.wantChanged(t.Redrive(t.ctx, actionOn(member)))(member)
		t.wantState(parent, ledger.Retrying, "")
		for _, w := range t.claim("p1", 10).Work {
			if w.RunID == parent {
				t.record(ledger.Outcome{Lease: leaseOf(w), State: ledger.FannedOut})
			} else {
				t.recordAll(ledger.Succeeded, w)
			}
		}
		t.release(10, parent)
		t.wantState(parent, ledger.Succeeded, "")
	}},
	{"a parent whose list is shorter than it says is not succeeded", func(t *fixture) {
		l := t.job("j").parent(0, 0)
		t.freeze(l, true, "a")
		t.record(ledger.Outcome{
			Lease: l, State: ledger.FannedOut, Members: 2,
			Attempt: ledger.Attempt{RunID: l.RunID, N: 1, Answer: ledger.AnswerFresh, Status: 200},
		})
		t.recordAll(ledger.Succeeded, t.release(10, l.RunID).Work...)
		t.release(10, l.RunID)
		t.wantState(l.RunID, ledger.Dead, ledger.ReasonMembers)
	}},
	{"a parent is acknowledged with the last of its failed members", func(t *fixture) {
		parent, work := t.fannedOut("a", "b", "c")
		t.recordAll(ledger.Dead, work["a"], work["b"])
		t.recordAll(ledger.Succeeded, work["c"])
		t.release(0, parent)
		t.wantChanged(t.Ack(t.ctx, actionOn(work["a"].RunID)))(work["a"].RunID)
		if r := t.get(parent); !r.AckedAt.IsZero() {
			t.Errorf("acknowledged at %s, and a member is not", r.AckedAt)
		}
		t.wantChanged(t.Ack(t.ctx, actionOn(work["b"].RunID)))(work["b"].RunID)
		if r := t.get(parent); r.AckedAt.IsZero() || r.By != "ann" {
			t.Errorf("%+v: all of its failed members are acknowledged", r)
		}
	}},
	{"a parent whose members are partly purged does not work on, and knows their states", func(t *fixture) {
		parent, _ := t.newFailedParent()
		t.advance(48 * time.Hour)
		_, err := t.PurgeRuns(t.ctx, ledger.Purge{Retention: time.Hour, DeadRetention: time.Hour, Batch: 1})
		t.must(err)
		t.wantCounts(parent, map[ledger.State]int{ledger.Dead: 1, ledger.Succeeded: 1})
		res, err := t.Redrive(t.ctx, actionOn(parent))
		t.must(err)
		if len(res.Rejected) != 1 || !strings.Contains(res.Rejected[0].Why, "purge") {
			t.Errorf("%+v", res)
		}
	}},
	{"a canceled parent that has lost members to a purge is not backfilled", func(t *fixture) {
		j := t.job("j")
		l := j.parent(0, 0)
		t.fanOut(l, "a", "b")
		t.release(2, l.RunID)
		t.wantChanged(t.Cancel(t.ctx, actionOn(l.RunID)))(l.RunID)
		t.advance(48 * time.Hour)
		_, err := t.PurgeRuns(t.ctx, ledger.Purge{Retention: time.Hour, DeadRetention: time.Hour, Batch: 1})
		t.must(err)
		got, err := t.Backfill(t.ctx, ledger.BackfillRequest{JobID: "j", Runs: []ledger.RunSpec{j.planned(0, ledger.OverlapSkip)}, Actor: actionOn().Actor})
		t.must(err)
		if got.Planned != 0 || got.Refused != 1 {
			t.Errorf("%+v", got)
		}
	}},
	{"a filter by parent selects members, and no filter does without", func(t *fixture) {
		parent, member := t.newFailedParent()
		a := actionOn()
		a.States = []ledger.State{ledger.Dead}
		a.DryRun = true
		if got, err := t.Redrive(t.ctx, a); err != nil || len(got.Changed) != 1 || got.Changed[0].ID != parent {
			t.Errorf("without a parent: %+v %v", got, err)
		}
		a.DryRun, a.Parent = false, parent
		t.wantChanged(t.Redrive(t.ctx, a))(member)
	}},
	{"a redrive by a filter makes no more members due than MaxOpenMembers", func(t *fixture) {
		l := t.job("j").parent(0, 0)
		names := make([]string, ledger.MaxOpenMembers+2)
		for i := range names {
			names[i] = fmt.Sprintf("m%05d", i)
		}
		t.fanOut(l, names...)
		work := t.release(len(names), l.RunID).Work
		t.recordAll(ledger.Dead, work[:2]...)
		if got := t.release(10, l.RunID); len(got.Work) != 2 {
			t.Fatalf("released %d", len(got.Work))
		}
		redrive := func(changed, remaining, rejected int) {
			t.Helper()
			a := actionOn()
			a.Parent, a.Limit = l.RunID, 100
			got, err := t.Redrive(t.ctx, a)
			t.must(err)
			if len(got.Changed) != changed || got.Remaining != remaining || len(got.Rejected) != rejected {
				t.Errorf("%d changed, %d remaining, rejected %+v", len(got.Changed), got.Remaining, got.Rejected)
			}
		}
		redrive(0, 2, 1)
		t.recordAll(ledger.Succeeded, work[2])
		redrive(1, 1, 0)
		redrive(0, 1, 1)
	}},
	{"a member is canceled by itself, and its parent is then dead", func(t *fixture) {
		parent, work := t.fannedOut("a", "b")
		t.wantChanged(t.Cancel(t.ctx, actionOn(work["a"].RunID)))(work["a"].RunID)
		t.recordAll(ledger.Succeeded, work["b"])
		t.release(10, parent)
		t.wantState(parent, ledger.Dead, ledger.ReasonMembers)
		t.wantCounts(parent, map[ledger.State]int{ledger.Canceled: 1, ledger.Succeeded: 1})
	}},
	{"a cancel of a parent cancels its unfinished members, and releases no more", func(t *fixture) {
		j := t.job("j")
		l := j.parent(0, 0)
		t.fanOut(l, "a", "b", "c")
		work := t.release(2, l.RunID).Work
		t.recordAll(ledger.Succeeded, work[0])
		t.wantChanged(t.Cancel(t.ctx, actionOn(l.RunID)))(l.RunID)
		r := t.wantState(work[1].RunID, ledger.Canceled, ledger.ReasonOperator)
		if r.By != "ann" {
			t.Errorf("by %q", r.By)
		}
		if results, err := t.Record(t.ctx, []ledger.Outcome{{Lease: leaseOf(work[1]), State: ledger.Succeeded}}); err != nil ||
			results[0] != ledger.Fenced {
			t.Errorf("%v %v", results, err)
		}
		if got := t.release(10, l.RunID); len(got.Work) != 0 {
			t.Errorf("released %+v", got.Work)
		}
		t.wantCounts(l.RunID, map[ledger.State]int{ledger.Succeeded: 1, ledger.Canceled: 1, "": 1})
		if got, err := t.Redrive(t.ctx, actionOn(work[1].RunID)); err != nil || len(got.Rejected) != 1 {
			t.Errorf("redrive of a canceled member: %+v %v", got, err)
		}
	}},
	{"a cancel of several parents cancels the unfinished members of each", func(t *fixture) {
		first, last := t.job("a").parent(0, 0), t.job("b").parent(0, 0)
		t.fanOut(first, "a")
		t.fanOut(last, "a")
		work := t.release(1, last.RunID).Work
		if len(work) != 1 || work[0].Parent != last.RunID {
			t.Fatalf("released %+v", work)
		}
		t.wantChanged(t.Cancel(t.ctx, actionOn(first.RunID, last.RunID)))(first.RunID, last.RunID)
		t.wantState(work[0].RunID, ledger.Canceled, ledger.ReasonOperator)
	}},
	{"a cancel of a parent that has yet to fan out again cancels its redriven members", func(t *fixture) {
		parent, member := t.newFailedParent()
		t.wantChanged(t.Redrive(t.ctx, actionOn(member)))(member)
		t.wantState(parent, ledger.Retrying, "")
		t.wantChanged(t.Cancel(t.ctx, actionOn(parent)))(parent)
		t.wantState(member, ledger.Canceled, ledger.ReasonOperator)
	}},
	{"an entry does not yield to a parent that has fanned out: no claim takes that", func(t *fixture) {
		j := t.job("j")
		l := j.parent(0, 0)
		t.fanOut(l, "a")
		t.release(1, l.RunID)
		t.advance(2 * time.Minute)
		if got := t.mustEnter(j.yielding(1, ledger.OverlapSkip)); got.Due != "" || got.Run.Reason != ledger.ReasonOverlap {
			t.Errorf("%+v; want it skipped", got)
		}
	}},
	{"a backfill of a canceled parent goes on with its frozen list", func(t *fixture) {
		j := t.job("j")
		l := j.parent(0, 0)
		t.fanOut(l, "a", "b", "c")
		work := t.release(2, l.RunID).Work
		t.recordAll(ledger.Succeeded, work[0])
		_, err := t.Cancel(t.ctx, actionOn(l.RunID))
		t.must(err)
		in := j.planned(0, ledger.OverlapSkip)
		got, err := t.Backfill(t.ctx, ledger.BackfillRequest{JobID: "j", Runs: []ledger.RunSpec{in}, Actor: actionOn().Actor})
		t.must(err)
		if got.Planned != 1 {
			t.Fatalf("%+v", got)
		}
		t.fanOutAgain(l.RunID)
		if got := t.release(10, l.RunID); len(got.Work) != 1 || got.Work[0].RunID != memberID(l.RunID, "c") {
			t.Errorf("released %+v", got.Work)
		}
		t.wantCounts(l.RunID, map[ledger.State]int{ledger.Succeeded: 1, ledger.Planned: 1, ledger.Running: 1})
	}},
	{"members are purged in batches, and their parent after them", func(t *fixture) {
		parent, member := t.newFailedParent()
		t.advance(48 * time.Hour)
		p := ledger.Purge{Retention: time.Hour, DeadRetention: 100 * time.Hour, Batch: 1}
		if got, err := t.PurgeRuns(t.ctx, p); err != nil || got.Runs != 0 {
			t.Fatalf("a dead parent, and its members: %+v %v", got, err)
		}
		t.get(member)
		_, err := t.Ack(t.ctx, actionOn(parent))
		t.must(err)
		var runs []int
		for more := true; more; {
			got, err := t.PurgeRuns(t.ctx, p)
			t.must(err)
			p.From, more = got.Next, got.More
			if got.Runs > 0 {
				runs = append(runs, got.Runs)
			}
		}
		if len(runs) != 3 {
			t.Errorf("batches of %v, want 3 of 1", runs)
		}
		for _, id := range []string{member, parent} {
			if _, _, err := t.Get(t.ctx, id); err == nil {
				t.Errorf("%s is there", id)
			}
		}
		page, err := t.Members(t.ctx, ledger.MemberFilter{Parent: parent})
		t.must(err)
		if len(page.Members) != 0 {
			t.Errorf("the list: %+v", page)
		}
	}},
}
