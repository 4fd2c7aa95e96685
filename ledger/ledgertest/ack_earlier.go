package ledgertest

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

var ackEarlierCases = []testCase{
	{"a success acknowledges its job's earlier dead runs, if it is asked to", func(b *fixture) {
		j := b.newDeadRuns(2)
		other, _ := b.newDead("k")
		b.succeedNext("j", false)
		b.acked(j.id(0), false)
		by := b.succeedNext("j", true)
		for i := range 2 {
			if r := b.acked(j.id(i), true); r.State != ledger.Dead || r.By != ledger.SystemActor || r.Why != "a later run succeeded: "+by {
				b.Errorf("row %+v, want it dead and acknowledged by cronce", r)
			}
		}
		b.acked(other.id(0), false)
		if got := b.status("j").DeadUnacknowledged; got != 0 {
			b.Errorf("%d dead runs of j are not acknowledged, want 0", got)
		}
		b.wantAudit(b.audit(ledger.AuditFilter{JobID: "j"}), "ack j  by cronce: a later run succeeded: "+by+" () of 2")
		b.wantAudit(b.audit(ledger.AuditFilter{RunID: j.id(0)}), "ack j "+j.id(0)+" by cronce: a later run succeeded: "+by+" ()")
		b.succeedNext("j", true)
		if list := b.audit(ledger.AuditFilter{JobID: "j"}); len(list) != 1 {
			b.Errorf("audit %+v, want no entry for a success that changed nothing", list)
		}
	}},
	{"a success acknowledges no later dead run, and no earlier one that an operator acknowledged", func(b *fixture) {
		j := b.newDeadRuns(3)
		_, err := b.Ack(b.ctx, ledger.Action{Filter: ledger.Filter{IDs: []string{j.id(0)}}, Actor: who("ann", "seen")})
		b.must(err)
		_, err = b.Redrive(b.ctx, ledger.Action{Filter: ledger.Filter{IDs: []string{j.id(1)}}, Actor: who("ann", "again")})
		b.must(err)
		o := succeeded(b.claimOne("p1", j.id(1)))
		o.AckEarlier = true
		b.record(o)
		if r := b.acked(j.id(0), true); r.By != "ann" {
			b.Errorf("row %+v, want it acknowledged by ann still", r)
		}
		b.acked(j.id(2), false)
	}},
	{"a run that dies in the batch of a later success is acknowledged by it", func(b *fixture) {
		j := b.job("j")
		w := j.admit(j.leased(0, ledger.OverlapAllow), j.leased(1, ledger.OverlapAllow), j.leased(2, ledger.OverlapAllow)).Leased
		o := succeeded(w[1])
		o.AckEarlier = true
		b.record(o, dead(w[0], ledger.ReasonPermanent), dead(w[2], ledger.ReasonPermanent))
		b.acked(j.id(0), true)
		b.acked(j.id(2), false)
	}},
	{"an outcome that is refused acknowledges nothing", func(b *fixture) {
		j := b.newDeadRuns(1)
		n := j.next()
		w := n.admit(n.leased(0, ledger.OverlapAllow)).Leased[0]
		w.Token = b.token()
		o := succeeded(w)
		o.AckEarlier = true
		b.wantFenced(o)
		b.acked(j.id(0), false)
	}},
	{"a parent whose members succeeded acknowledges earlier dead runs", func(b *fixture) {
		j := b.newDeadRuns(1)
		n := j.next()
		in := n.leased(0, ledger.OverlapAllow)
		in.Call.Each, in.Call.AckEarlier = &ledger.Each{Path: "/v1/tenants", Max: 1000}, true
		l := leaseOf(n.admit(in).Leased[0])
		b.fanOut(l, "a")
		b.recordAll(ledger.Succeeded, b.release(10, l.RunID).Work...)
		b.release(0, l.RunID)
		b.wantState(l.RunID, ledger.Succeeded, "")
		b.acked(j.id(0), true)
	}},
	{"a redrive by filter leaves out what a success acknowledged", func(b *fixture) {
		b.newDeadRuns(1)
		b.succeedNext("j", true)
		b.advance(time.Second)
		b.wantLeftOut(b.Redrive(b.ctx, ledger.Action{Actor: who("ann", "again")}))(map[ledger.RejectionCause]int{ledger.RejectedAcknowledged: 1})
	}},
}

// succeedNext lets the next scheduled time of a job succeed, and returns its run ID.
func (b *fixture) succeedNext(jobID string, ackEarlier bool) string {
	b.Helper()
	j := b.now(jobID)
	o := succeeded(j.admit(j.leased(0, ledger.OverlapAllow)).Leased[0])
	o.AckEarlier = ackEarlier
	b.record(o)
	return o.RunID
}

// acked checks whether a run is acknowledged.
func (b *fixture) acked(id string, want bool) ledger.Run {
	b.Helper()
	r := b.get(id)
	if r.AckedAt.IsZero() == want {
		b.Errorf("%s is acknowledged at %v, want %v", id, r.AckedAt, want)
	}
	return r
}
