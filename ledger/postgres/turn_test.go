package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/ledger"
)

// Two processes plan a hundred jobs. The second has lost once; from then on it
// looks where the jobs stand first. The rows of those that moved on are locked
// by somebody: whoever sends their plans nevertheless waits there.
func TestWhoLostInstantsSendsOnlyPlansThatMayStillBeTrue(t *testing.T) {
	first := newFleet(t, 100, ledger.OverlapAllow)
	second := open(t, first.url)
	lost := plansOf(first, 100)
	admitAll(t, first.Ledger, "p-1", lost, 0)
	admitAll(t, second, "q-1", lost, 100)

	plans := plansOf(first, 100)
	admitAll(t, first.Ledger, "p-2", plans[:60], 0)
	c, err := pgx.Connect(t.Context(), first.url)
	must(t, err)
	defer c.Close(t.Context())
	tx, err := c.Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), `SELECT FROM cronce.jobs WHERE job_id < $1 FOR UPDATE`, plans[60].JobID)
	must(t, err)

	stale := admitAll(t, second, "q-2", plans, 60)
	for i, s := range stale {
		if s.JobID != plans[i].JobID || !s.Watermark.Equal(plans[i].Through) || s.Epoch != plans[i].Epoch {
			t.Fatalf("stale %+v, want %s at %s", s, plans[i].JobID, plans[i].Through)
		}
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
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	got, err := l.Admit(ctx, ledger.Admission{Plans: plans, Owner: "p", Token: token, LeaseFor: time.Minute})
	if err != nil || len(got.Stale) != stale || len(got.Leased) != len(plans)-stale {
		t.Fatalf("%d stale and %d leased of %d, want %d stale: %v", len(got.Stale), len(got.Leased), len(plans), stale, err)
	}
	return got.Stale
}
