package executor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// A target with a quota is called at the pace that it can take: no member dies of its 429, and
// few calls meet one.
func TestMembersAreCalledAtThePaceOfTheirTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const members, quota = 300, 5 // calls a second
		keys := make([]string, members)
		for i := range keys {
			keys[i] = fmt.Sprintf(`"m%03d"`, i)
		}
		svc := newTarget(nil)
		taken, refused := map[int64]int{}, 0
		svc.answer = func(_ context.Context, c executor.Call, _ int) executor.Answer {
			if c.List {
				return executor.Answer{Kind: ledger.AnswerFresh, Status: 200, Body: "[" + strings.Join(keys, ",") + "]"}
			}
			svc.mu.Lock()
			second := time.Now().Unix()
			full := taken[second] >= quota
			if full {
				refused++
			} else {
				taken[second]++
			}
			svc.mu.Unlock()
			if full {
				return executor.Answer{Kind: ledger.AnswerThrottled, Status: 429, RetryAfter: time.Second}
			}
			return svc.apply(c)
		}
		l, run, _ := bills(t, svc, billing(jobs.Each{Path: "/v1/tenants"}), 20*time.Minute)
		counts, err := l.MemberCounts(t.Context(), []string{run.ID})
		if err != nil || run.State != ledger.Succeeded || len(svc.runIDs()) != members {
			t.Errorf("%s, %d applied, %v %v", run.State, len(svc.runIDs()), counts, err)
		}
		if refused > members/3 {
			t.Errorf("%d calls of %d members were answered with 429", refused, members)
		}
		t.Logf("%d answers with 429, parent took %s", refused, run.FinishedAt.Sub(run.ScheduledAt))
	})
}

// A hold of the target stops members: those that no run was made of get none, and no retry is used.
func TestAHoldOfTheTargetStopsMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := make([]string, 400)
		for i := range keys {
			keys[i] = fmt.Sprintf(`"m%03d"`, i)
		}
		sent, runs := held(t, "["+strings.Join(keys, ",")+"]", billing(jobs.Each{Path: "/v1/tenants"}))
		if sent != len(keys) || runs != len(keys)+1 {
			t.Errorf("sent %d, %d runs", sent, runs)
		}
	})
}
