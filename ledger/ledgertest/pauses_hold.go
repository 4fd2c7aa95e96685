package ledgertest

import (
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

func holdWaits(t *fixture) {
	j, w := t.newStarted("j")
	k := j.next()
	t.record(retrying(w, 0))
	hold := t.holdOf("target-of-j", 5*time.Minute)
	got := k.admit(k.leased(0, ledger.OverlapAllow))
	entered := t.mustEnter(j.adHoc("x"))
	if len(got.Leased) != 0 || entered.Work != nil {
		t.Errorf("leased %v, %v", runIDs(got.Leased), entered.Work)
	}
	claimed := t.wantIdle()
	if !claimed.NextAt.Equal(hold.Until) {
		t.Errorf("next claim at %s, want the end of the hold, %s", claimed.NextAt, hold.Until)
	}
	t.declare("p1", "v1", "j")
	reply, err := t.Heartbeat(t.ctx, "p1")
	t.must(err)
	if len(reply.HeldTargets) != 1 || reply.HeldTargets[0] != hold.Target {
		t.Errorf("held %v", reply.HeldTargets)
	}
	why, err := t.Waiting(t.ctx, []string{w.RunID, k.id(0)})
	t.must(err)
	for id, reason := range why {
		if reason.Code != ledger.WaitTargetHeld || !strings.Contains(reason.Text,
			"ann holds target target-of-j until "+hold.Until.Format(time.RFC3339)+": maintenance") {
			t.Errorf("%s waits for %+v", id, reason)
		}
	}
	if len(why) != 2 {
		t.Errorf("%d runs wait", len(why))
	}
	before := t.get(w.RunID)
	t.advance(6 * time.Minute)
	work := t.claim("p1", 9).Work
	i := slices.IndexFunc(work, func(again ledger.Work) bool { return again.RunID == w.RunID })
	if len(work) != 3 || i < 0 {
		t.Fatalf("claimed %v", runIDs(work))
	}
	again := work[i]
	if again.Attempt != 2 || again.Failures != before.Failures || !again.SendBefore.Equal(w.SendBefore) {
		t.Errorf("after the hold %+v, before it %+v", again, before)
	}
}
