package ledgertest

import (
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

func holdWaits(b *fixture) {
	j, w := b.newStarted("j")
	k := j.next()
	b.record(retrying(w, 0))
	hold := b.holdOf("target-of-j", 5*time.Minute)
	got := k.admit(k.leased(0, ledger.OverlapAllow))
	entered := b.mustEnter(j.adHoc("x"))
	if len(got.Leased) != 0 || entered.Work != nil {
		b.Errorf("leased %v, %v", runIDs(got.Leased), entered.Work)
	}
	claimed := b.wantIdle()
	if !claimed.NextAt.Equal(hold.Until) {
		b.Errorf("next claim at %s, want the end of the hold, %s", claimed.NextAt, hold.Until)
	}
	b.declare("p1", "v1", "j")
	reply, err := b.Heartbeat(b.ctx, "p1")
	b.must(err)
	if len(reply.HeldTargets) != 1 || reply.HeldTargets[0] != hold.Target {
		b.Errorf("held %v", reply.HeldTargets)
	}
	why, err := b.Waiting(b.ctx, []string{w.RunID, k.id(0)})
	b.must(err)
	for id, reason := range why {
		if reason.Code != ledger.WaitTargetHeld || !strings.Contains(reason.Text,
			"ann holds target target-of-j until "+hold.Until.Format(time.RFC3339)+": maintenance") {
			b.Errorf("%s waits for %+v", id, reason)
		}
	}
	if len(why) != 2 {
		b.Errorf("%d runs wait", len(why))
	}
	before := b.get(w.RunID)
	b.advance(6 * time.Minute)
	work := b.claim("p1", 9).Work
	i := slices.IndexFunc(work, func(again ledger.Work) bool { return again.RunID == w.RunID })
	if len(work) != 3 || i < 0 {
		b.Fatalf("claimed %v", runIDs(work))
	}
	again := work[i]
	if again.Attempt != 2 || again.Failures != before.Failures || !again.SendBefore.Equal(w.SendBefore) {
		b.Errorf("after the hold %+v, before it %+v", again, before)
	}
}
