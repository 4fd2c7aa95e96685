package telemetry_test

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/cleanup"
	"github.com/cronce/cronce/internal/telemetry"
)

func TestPurgeIsCountedPerStoreAndScope(t *testing.T) {
	m := telemetry.NewMetrics()
	p := m.Purge()
	p.Removed("db", map[string]int64{"orders": 3, "payments": 1}, 20*time.Millisecond)
	p.Removed("db", map[string]int64{"orders": 2}, 20*time.Millisecond)
	p.Removed("db", map[string]int64{"not UTF-8 \xff": 1}, 20*time.Millisecond)
	p.RemovedRuns(7, time.Millisecond)
	p.Ended(cleanup.StoreReport{Name: "db", Remaining: 40})
	p.Ended(cleanup.StoreReport{Name: "down", Err: errors.New("no route to host")})
	p.Observed(time.Unix(1_790_000_000, 0), true)

	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{
		`cronce_purged_keys_total{scope="orders",store="db"} 5`,
		`cronce_purged_keys_total{scope="payments",store="db"} 1`,
		"cronce_purged_keys_total{scope=\"not UTF-8 \ufffd\",store=\"db\"} 1",
		`cronce_purged_runs_total 7`,
		`cronce_purge_batch_seconds_count{store="db"} 3`,
		`cronce_purge_left{store="db"} 40`,
		`cronce_purge_failures_total{store="down"} 1`,
		`cronce_purge_last_success_timestamp_seconds 1.79e+09`,
		`cronce_purge_overdue 1`,
	} {
		if !strings.Contains(w.Body.String(), want+"\n") {
			t.Errorf("/metrics lacks %s", want)
		}
	}
}
