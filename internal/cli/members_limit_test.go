package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// The list of as many items as a job may have is frozen. Of one more nothing is, and the run
// says what to do.
func TestTheLongestListIsFrozenAndALongerOneIsRefused(t *testing.T) {
	t.Parallel()
	const perPage = 25_000
	engines(t, func(t *testing.T, db string) {
		var mu sync.Mutex
		called := map[string]int{} // members, by job
		svc := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet { // no member succeeds here
				mu.Lock()
				called[r.Header.Get("Cronce-Job-Id")]++
				mu.Unlock()
				w.Header().Set("Retry-After", "3600")
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			n, _ := strconv.Atoi(r.URL.Query().Get("n"))
			at, _ := strconv.Atoi(r.URL.Query().Get("at"))
			keys := make([]int, min(perPage, n-at))
			for i := range keys {
				keys[i] = at + i
			}
			if at += len(keys); at < n {
				w.Header().Set("Link", fmt.Sprintf(`<?n=%d&at=%d>; rel="next"`, n, at))
			}
			_ = json.NewEncoder(w).Encode(keys)
		}))
		t.Cleanup(svc.Close)
		config := writeFile(t, fmt.Sprintf(`version: 1
name: test
defaults: { targetUrlEnv: SVC_URL, catchUp: none }
jobs:
  - { id: longest, schedule: "* * * * * *", path: "/t/{{key}}", each: { path: "/tenants?n=%d", inFlight: 1 } }
  - { id: longer, schedule: "* * * * * *", path: "/t/{{key}}", each: { path: "/tenants?n=%d" } }
`, jobs.DefaultEachMax, jobs.DefaultEachMax+1))
		p := spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--config", config, "--db", db, "--listen", "")
		eventually(t, "a member of the longest list is called", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return called["longest"] > 0
		})
		eventually(t, "a list of the most items is frozen, and a longer one refused", func() bool {
			return len(listRuns(t, db, "--job", "longest", "--state", "fanned_out")) == 1 &&
				len(listRuns(t, db, "--job", "longer", "--state", "dead")) > 0
		})
		p.Interrupt()
		if frozen := listRuns(t, db, "--job", "longest", "--state", "fanned_out"); frozen[0].MemberCount != jobs.DefaultEachMax {
			t.Errorf("%d members are frozen", frozen[0].MemberCount)
		}
		for _, run := range listRuns(t, db, "--job", "longer", "--state", "dead") {
			_, out, _ := invoke(t, nil, "runs", "show", run.RunID, "--db", db)
			if run.Reason != ledger.ReasonPermanent || run.Attempts != 1 || run.MemberCount != 0 || len(membersOf(t, db, run.RunID)) != 0 ||
				!strings.Contains(out, "more than 100000 items; raise each.max") {
				t.Errorf("%+v\n%s", run, out)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if called["longer"] != 0 || called["longest"] == 0 {
			t.Errorf("members called: %v", called)
		}
	})
}
