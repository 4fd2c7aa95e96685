package ledgertest

import (
	"fmt"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

// newFailedParent is a dead parent of which the member a failed, and b succeeded.
func (b *fixture) newFailedParent() (parent, member string) {
	b.Helper()
	parent, work := b.fannedOut("a", "b")
	b.recordAll(ledger.Dead, work["a"])
	b.recordAll(ledger.Succeeded, work["b"])
	b.release(0, parent)
	b.wantState(parent, ledger.Dead, ledger.ReasonMembers)
	return parent, work["a"].RunID
}

// fanOutAgain claims a parent whose list is frozen, and records that it has fanned out.
func (b *fixture) fanOutAgain(parent string) {
	b.Helper()
	w := b.claimOne("p1", parent)
	if !w.Frozen {
		b.Fatalf("not frozen: %+v", w)
	}
	b.record(ledger.Outcome{Lease: leaseOf(w), State: ledger.FannedOut})
	b.wantState(parent, ledger.FannedOut, "")
}

var memberOperateCases = []testCase{
	{"a redrive of a parent makes its failed members due again, and no other", func(b *fixture) {
		parent, member := b.newFailedParent()
		attempt := b.get(parent).Attempt
		b.wantChanged(b.Redrive(b.ctx, actionOn(parent)))(parent)
		b.wantState(member, ledger.Dead, ledger.ReasonPermanent)
		b.fanOutAgain(parent)
		if r := b.get(parent); r.Attempt != attempt || len(b.history(parent)) != 1 {
			b.Errorf("attempt %d, history %+v: nothing was sent", r.Attempt, b.history(parent))
		}
		if got := b.release(10, parent); len(got.Work) != 0 {
			b.Errorf("released %+v", got.Work)
		}
		b.wantCounts(parent, map[ledger.State]int{ledger.Retrying: 1, ledger.Succeeded: 1})
		w := b.claimOne("p1", member)
		b.recordAll(ledger.Dead, w)
		b.release(10, parent)
		b.wantState(parent, ledger.Dead, ledger.ReasonMembers)
		b.wantState(member, ledger.Dead, ledger.ReasonPermanent)
	}},
	{"a redrive of a parent leaves acknowledged members, and those whose key is forgotten", func(b *fixture) {
		parent, member := b.newFailedParent()
		b.wantChanged(b.Ack(b.ctx, actionOn(member)))(member)
		b.wantChanged(b.Redrive(b.ctx, actionOn(parent)))(parent)
		b.fanOutAgain(parent)
		b.release(10, parent)
		b.wantState(member, ledger.Dead, ledger.ReasonPermanent)
		b.wantState(parent, ledger.Dead, ledger.ReasonMembers)
		b.advance(2 * horizon)
		b.wantChanged(b.Redrive(b.ctx, actionOn(parent)))(parent)
		b.fanOutAgain(parent)
		b.release(10, parent)
		b.wantState(parent, ledger.Dead, ledger.ReasonMembers)
	}},
	{"a member is redriven by itself, and its parent works on", func(b *fixture) {
		parent, member := b.newFailedParent()
		b.wantChanged(b.Redrive(b.ctx, actionOn(member)))(member)
		b.wantState(parent, ledger.Retrying, "")
		for _, w := range b.claim("p1", 10).Work {
			if w.RunID == parent {
				b.record(ledger.Outcome{Lease: leaseOf(w), State: ledger.FannedOut})
			} else {
				b.recordAll(ledger.Succeeded, w)
			}
		}
		b.release(10, parent)
		b.wantState(parent, ledger.Succeeded, "")
	}},
	{"a parent whose list is shorter than it says is not succeeded", func(b *fixture) {
		l := b.job("j").parent(0, 0)
		b.freeze(l, true, "a")
		b.record(ledger.Outcome{
			Lease: l, State: ledger.FannedOut, Members: 2,
			Attempt: ledger.Attempt{RunID: l.RunID, N: 1, Answer: ledger.AnswerFresh, Status: 200},
		})
		b.recordAll(ledger.Succeeded, b.release(10, l.RunID).Work...)
		b.release(10, l.RunID)
		b.wantState(l.RunID, ledger.Dead, ledger.ReasonMembers)
	}},
	{"a parent is acknowledged with the last of its failed members", func(b *fixture) {
		parent, work := b.fannedOut("a", "b", "c")
		b.recordAll(ledger.Dead, work["a"], work["b"])
		b.recordAll(ledger.Succeeded, work["c"])
		b.release(0, parent)
		b.wantChanged(b.Ack(b.ctx, actionOn(work["a"].RunID)))(work["a"].RunID)
		if r := b.get(parent); !r.AckedAt.IsZero() {
			b.Errorf("acknowledged at %s, and a member is not", r.AckedAt)
		}
		b.wantChanged(b.Ack(b.ctx, actionOn(work["b"].RunID)))(work["b"].RunID)
		if r := b.get(parent); r.AckedAt.IsZero() || r.By != "ann" {
			b.Errorf("%+v: all of its failed members are acknowledged", r)
		}
	}},
	{"a parent whose members are partly purged does not work on, and knows their states", func(b *fixture) {
		parent, _ := b.newFailedParent()
		b.advance(48 * time.Hour)
		_, err := b.PurgeRuns(b.ctx, ledger.Purge{Retention: time.Hour, DeadRetention: time.Hour, Batch: 1})
		b.must(err)
		b.wantCounts(parent, map[ledger.State]int{ledger.Dead: 1, ledger.Succeeded: 1})
		res, err := b.Redrive(b.ctx, actionOn(parent))
		b.must(err)
		if len(res.Rejected) != 1 || !strings.Contains(res.Rejected[0].Why, "purge") {
			b.Errorf("%+v", res)
		}
	}},
	{"a canceled parent that has lost members to a purge is not backfilled", func(b *fixture) {
		j := b.job("j")
		l := j.parent(0, 0)
		b.fanOut(l, "a", "b")
		b.release(2, l.RunID)
		b.wantChanged(b.Cancel(b.ctx, actionOn(l.RunID)))(l.RunID)
		b.advance(48 * time.Hour)
		_, err := b.PurgeRuns(b.ctx, ledger.Purge{Retention: time.Hour, DeadRetention: time.Hour, Batch: 1})
		b.must(err)
		got, err := b.Backfill(b.ctx, ledger.BackfillRequest{JobID: "j", Runs: []ledger.RunSpec{j.planned(0, ledger.OverlapSkip)}, Actor: actionOn().Actor})
		b.must(err)
		if got.Planned != 0 || got.Refused != 1 {
			b.Errorf("%+v", got)
		}
	}},
	{"a filter by parent selects members, and no filter does without", func(b *fixture) {
		parent, member := b.newFailedParent()
		a := actionOn()
		a.States = []ledger.State{ledger.Dead}
		a.DryRun = true
		if got, err := b.Redrive(b.ctx, a); err != nil || len(got.Changed) != 1 || got.Changed[0].ID != parent {
			b.Errorf("without a parent: %+v %v", got, err)
		}
		a.DryRun, a.Parent = false, parent
		b.wantChanged(b.Redrive(b.ctx, a))(member)
	}},
	{"a redrive by a filter makes no more members due than MaxOpenMembers", func(b *fixture) {
		l := b.job("j").parent(0, 0)
		names := make([]string, ledger.MaxOpenMembers+2)
		for i := range names {
			names[i] = fmt.Sprintf("m%05d", i)
		}
		b.fanOut(l, names...)
		work := b.release(len(names), l.RunID).Work
		b.recordAll(ledger.Dead, work[:2]...)
		if got := b.release(10, l.RunID); len(got.Work) != 2 {
			b.Fatalf("released %d", len(got.Work))
		}
		redrive := func(changed, remaining, rejected int) {
			b.Helper()
			a := actionOn()
			a.Parent, a.Limit = l.RunID, 100
			got, err := b.Redrive(b.ctx, a)
			b.must(err)
			if len(got.Changed) != changed || got.Remaining != remaining || len(got.Rejected) != rejected {
				b.Errorf("%d changed, %d remaining, rejected %+v", len(got.Changed), got.Remaining, got.Rejected)
			}
		}
		redrive(0, 2, 1)
		b.recordAll(ledger.Succeeded, work[2])
		redrive(1, 1, 0)
		redrive(0, 1, 1)
	}},
	{"a member is canceled by itself, and its parent is then dead", func(b *fixture) {
		parent, work := b.fannedOut("a", "b")
		b.wantChanged(b.Cancel(b.ctx, actionOn(work["a"].RunID)))(work["a"].RunID)
		b.recordAll(ledger.Succeeded, work["b"])
		b.release(10, parent)
		b.wantState(parent, ledger.Dead, ledger.ReasonMembers)
		b.wantCounts(parent, map[ledger.State]int{ledger.Canceled: 1, ledger.Succeeded: 1})
	}},
	{"a cancel of a parent cancels its unfinished members, and releases no more", func(b *fixture) {
		j := b.job("j")
		l := j.parent(0, 0)
		b.fanOut(l, "a", "b", "c")
		work := b.release(2, l.RunID).Work
		b.recordAll(ledger.Succeeded, work[0])
		b.wantChanged(b.Cancel(b.ctx, actionOn(l.RunID)))(l.RunID)
		r := b.wantState(work[1].RunID, ledger.Canceled, ledger.ReasonOperator)
		if r.By != "ann" {
			b.Errorf("by %q", r.By)
		}
		if results, err := b.Record(b.ctx, []ledger.Outcome{{Lease: leaseOf(work[1]), State: ledger.Succeeded}}); err != nil ||
			results[0] != ledger.Fenced {
			b.Errorf("%v %v", results, err)
		}
		if got := b.release(10, l.RunID); len(got.Work) != 0 {
			b.Errorf("released %+v", got.Work)
		}
		b.wantCounts(l.RunID, map[ledger.State]int{ledger.Succeeded: 1, ledger.Canceled: 1, "": 1})
		if got, err := b.Redrive(b.ctx, actionOn(work[1].RunID)); err != nil || len(got.Rejected) != 1 {
			b.Errorf("redrive of a canceled member: %+v %v", got, err)
		}
	}},
	{"a cancel of several parents cancels the unfinished members of each", func(b *fixture) {
		first, last := b.job("a").parent(0, 0), b.job("b").parent(0, 0)
		b.fanOut(first, "a")
		b.fanOut(last, "a")
		work := b.release(1, last.RunID).Work
		if len(work) != 1 || work[0].Parent != last.RunID {
			b.Fatalf("released %+v", work)
		}
		b.wantChanged(b.Cancel(b.ctx, actionOn(first.RunID, last.RunID)))(first.RunID, last.RunID)
		b.wantState(work[0].RunID, ledger.Canceled, ledger.ReasonOperator)
	}},
	{"a cancel of a parent that has yet to fan out again cancels its redriven members", func(b *fixture) {
		parent, member := b.newFailedParent()
		b.wantChanged(b.Redrive(b.ctx, actionOn(member)))(member)
		b.wantState(parent, ledger.Retrying, "")
		b.wantChanged(b.Cancel(b.ctx, actionOn(parent)))(parent)
		b.wantState(member, ledger.Canceled, ledger.ReasonOperator)
	}},
	{"an entry does not yield to a parent that has fanned out: no claim takes that", func(b *fixture) {
		j := b.job("j")
		l := j.parent(0, 0)
		b.fanOut(l, "a")
		b.release(1, l.RunID)
		b.advance(2 * time.Minute)
		if got := b.mustEnter(j.yielding(1, ledger.OverlapSkip)); got.Due != "" || got.Run.Reason != ledger.ReasonOverlap {
			b.Errorf("%+v; want it skipped", got)
		}
	}},
	{"a backfill of a canceled parent goes on with its frozen list", func(b *fixture) {
		j := b.job("j")
		l := j.parent(0, 0)
		b.fanOut(l, "a", "b", "c")
		work := b.release(2, l.RunID).Work
		b.recordAll(ledger.Succeeded, work[0])
		_, err := b.Cancel(b.ctx, actionOn(l.RunID))
		b.must(err)
		in := j.planned(0, ledger.OverlapSkip)
		got, err := b.Backfill(b.ctx, ledger.BackfillRequest{JobID: "j", Runs: []ledger.RunSpec{in}, Actor: actionOn().Actor})
		b.must(err)
		if got.Planned != 1 {
			b.Fatalf("%+v", got)
		}
		b.fanOutAgain(l.RunID)
		if got := b.release(10, l.RunID); len(got.Work) != 1 || got.Work[0].RunID != memberID(l.RunID, "c") {
			b.Errorf("released %+v", got.Work)
		}
		b.wantCounts(l.RunID, map[ledger.State]int{ledger.Succeeded: 1, ledger.Planned: 1, ledger.Running: 1})
	}},
	{"members are purged in batches, and their parent after them", func(b *fixture) {
		parent, member := b.newFailedParent()
		b.advance(48 * time.Hour)
		p := ledger.Purge{Retention: time.Hour, DeadRetention: 100 * time.Hour, Batch: 1}
		if got, err := b.PurgeRuns(b.ctx, p); err != nil || got.Runs != 0 {
			b.Fatalf("a dead parent, and its members: %+v %v", got, err)
		}
		b.get(member)
		_, err := b.Ack(b.ctx, actionOn(parent))
		b.must(err)
		var runs []int
		for more := true; more; {
			got, err := b.PurgeRuns(b.ctx, p)
			b.must(err)
			p.From, more = got.Next, got.More
			if got.Runs > 0 {
				runs = append(runs, got.Runs)
			}
		}
		if len(runs) != 3 {
			b.Errorf("batches of %v, want 3 of 1", runs)
		}
		for _, id := range []string{member, parent} {
			if _, _, err := b.Get(b.ctx, id); err == nil {
				b.Errorf("%s is there", id)
			}
		}
		page, err := b.Members(b.ctx, ledger.MemberFilter{Parent: parent})
		b.must(err)
		if len(page.Members) != 0 {
			b.Errorf("the list: %+v", page)
		}
	}},
}
