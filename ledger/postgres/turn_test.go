package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
)

// Two processes plan a hundred jobs. The second has lost once; from then on it
// looks where the jobs stand before it sends their plans.
func TestAProcessThatLostScheduledTimesSendsOnlyCurrentPlans(t *testing.T) {
	first := newFleet(t, 100, ledger.OverlapAllow)
	second := open(t, first.url)
	lost := plansOf(first, 100)
	admitAll(t, first.Store, "p-1", lost, 0)
	if left, _, err := postgres.AfterOthers(second, t.Context(), lost); err != nil || len(left) != 100 {
		t.Errorf("who has lost nothing yet sends %d plans, want all 100 without a look: %v", len(left), err)
	}
	admitAll(t, second, "q-1", lost, 100)

	plans := plansOf(first, 100)
	admitAll(t, first.Store, "p-2", plans[:60], 0)
	left, moved, err := postgres.AfterOthers(second, t.Context(), plans)
	if err != nil || len(left) != 40 || len(moved) != 60 {
		t.Errorf("%d plans sent and %d not, want the 40 of jobs that have not moved on: %v", len(left), len(moved), err)
	}
	stale := admitAll(t, second, "q-2", plans, 60)
	for i, s := range stale {
		if s.JobID != plans[i].JobID || !s.Watermark.Equal(plans[i].Through) || s.Revision != plans[i].Revision {
			t.Fatalf("stale %+v, want %s at %s", s, plans[i].JobID, plans[i].Through)
		}
	}
	admitAll(t, second, "q-3", plansOf(first, 100), 0)
	if left, _, err := postgres.AfterOthers(second, t.Context(), lost); err != nil || len(left) != 100 {
		t.Errorf("who lost nothing of late sends %d plans, want all 100: %v", len(left), err)
	}
}

func plansOf(f *fleet, n int) (plans []ledger.Plan) {
	for i := range n {
		plans = append(plans, f.plan(i, true))
	}
	return plans
}

func admitAll(t *testing.T, l interface {
	Admit(context.Context, ledger.Admission) (ledger.Admitted, error)
}, token string, plans []ledger.Plan, stale int) []ledger.Position {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := l.Admit(ctx, ledger.Admission{Plans: plans, Owner: "p", Token: token, LeaseFor: time.Minute})
	if err != nil || len(got.Stale) != stale || len(got.Leased) != len(plans)-stale {
		t.Fatalf("%d stale and %d leased of %d, want %d stale: %v", len(got.Stale), len(got.Leased), len(plans), stale, err)
	}
	return got.Stale
}
