package ledgertest

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

var ackEarlierCases = []testCase{
	{"a success acknowledges its job's earlier dead runs, if it is asked to", func(t *fixture) {
		j := t.newDeadRuns(2)
		other, _ := t.newDead("k")
		t.succeedNext("j", false)
		t.acked(j.id(0), false)
		by := t.succeedNext("j", true)
		for i := range 2 {
			if r := t.acked(j.id(i), true); r.State != ledger.Dead || r.By != ledger.SystemActor || r.Why != "a later run succeeded: "+by {
				t.Errorf("row %+v, want it dead and acknowledged by cronce", r)
			}
		}
		t.acked(other.id(0), false)
		if got := t.status("j").DeadUnacknowledged; got != 0 {
			t.Errorf("%d dead runs of j are not acknowledged, want 0", got)
		}
		t.wantAudit(t.audit(ledger.AuditFilter{JobID: "j"}), "ack j  by cronce: a later run succeeded: "+by+" () of 2")
		t.wantAudit(t.audit(ledger.AuditFilter{RunID: j.id(0)}), "ack j "+j.id(0)+" by cronce: a later run succeeded: "+by+" ()")
		t.succeedNext("j", true)
		if list := t.audit(ledger.AuditFilter{JobID: "j"}); len(list) != 1 {
			t.Errorf("audit %+v, want no entry for a success that changed nothing", list)
		}
	}},
	{"a success acknowledges no later dead run, and no earlier one that an operator acknowledged", func(t *fixture) {
		j := t.newDeadRuns(3)
		_, err := t.Ack(t.ctx, ledger.Action{Filter: ledger.Filter{IDs: []string{j.id(0)}}, Actor: who("ann", "seen")})
		t.must(err)
		_, err = t.Redrive(t.ctx, ledger.Action{Filter: ledger.Filter{IDs: []string{j.id(1)}}, Actor: who("ann", "again")})
		t.must(err)
		o := succeeded(t.claimOne("p1", j.id(1)))
		o.AckEarlier = true
		t.record(o)
		if r := t.acked(j.id(0), true); r.By != "ann" {
			t.Errorf("row %+v, want it acknowledged by ann still", r)
		}
		t.acked(j.id(2), false)
	}},
	{"a run that dies in the batch of a later success is acknowledged by it", func(t *fixture) {
		j := t.job("j")
		w := j.admit(j.leased(0, ledger.OverlapAllow), j.leased(1, ledger.OverlapAllow), j.leased(2, ledger.OverlapAllow)).Leased
		o := succeeded(w[1])
		o.AckEarlier = true
		t.record(o, dead(w[0], ledger.ReasonPermanent), dead(w[2], ledger.ReasonPermanent))
		t.acked(j.id(0), true)
		t.acked(j.id(2), false)
	}},
	{"an outcome that is refused acknowledges nothing", func(t *fixture) {
		j := t.newDeadRuns(1)
		n := j.next()
		w := n.admit(n.leased(0, ledger.OverlapAllow)).Leased[0]
		w.Token = t.token()
		o := succeeded(w)
		o.AckEarlier = true
		t.wantFenced(o)
		t.acked(j.id(0), false)
	}},
	{"a parent whose members succeeded acknowledges earlier dead runs", func(t *fixture) {
		j := t.newDeadRuns(1)
		n := j.next()
		in := n.leased(0, ledger.OverlapAllow)
		in.Call.Each, in.Call.AckEarlier = &ledger.Each{Path: "/v1/tenants", Max: 1000}, true
		l := leaseOf(n.admit(in).Leased[0])
		t.fanOut(l, "a")
		t.recordAll(ledger.Succeeded, t.release(10, l.RunID).Work...)
		t.release(0, l.RunID)
		t.wantState(l.RunID, ledger.Succeeded, "")
		t.acked(j.id(0), true)
	}},
	{"a redrive by filter leaves out what a success acknowledged", func(t *fixture) {
		t.newDeadRuns(1)
		t.succeedNext("j", true)
		t.advance(time.Second)
		t.wantLeftOut(t.Redrive(t.ctx, ledger.Action{Actor: who("ann", "again")}))(map[ledger.RejectionCause]int{ledger.RejectedAcknowledged: 1})
	}},
}

// succeedNext lets the next scheduled time of a job succeed, and returns its run ID.
func (t *fixture) succeedNext(jobID string, ackEarlier bool) string {
	t.Helper()
	j := t.now(jobID)
	o := succeeded(j.admit(j.leased(0, ledger.OverlapAllow)).Leased[0])
	o.AckEarlier = ackEarlier
	t.record(o)
	return o.RunID
}

// acked checks whether a run is acknowledged.
func (t *fixture) acked(id string, want bool) ledger.Run {
	t.Helper()
	r := t.get(id)
	if r.AckedAt.IsZero() == want {
		t.Errorf("%s is acknowledged at %v, want %v", id, r.AckedAt, want)
	}
	return r
}
