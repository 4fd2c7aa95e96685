package cli_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
)

// Half a year of hourly times from before the job existed, in waves, while client and scheduler
// are killed again and again: each time runs once, never more at a time than was asked for, and
// the scheduled runs are not in its way.
func TestABackfillInWavesUnderKills(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, db string) {
		const hours, parallel = 4380, 20
		svc := newService(t)
		var calls, most atomic.Int64
		svc.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n := calls.Add(1)
			defer calls.Add(-1)
			for was := most.Load(); n > was && !most.CompareAndSwap(was, n); was = most.Load() {
			}
			time.Sleep(time.Millisecond)
			svc.ServeHTTP(w, r)
		})
		last := time.Now().UTC().Truncate(time.Minute).Add(-30 * time.Minute) // the next is half an hour away
		config := writeFile(t, strings.Replace(operated, `"* * * * * *"`, fmt.Sprintf(`"%d * * * *"`, last.Minute()), 2))
		serve := func() *process {
			return spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--config", config, "--db", db, "--listen", "", "--lease", "2s")
		}
		p := serve()
		eventually(t, "the job to be planned", func() bool {
			code, out, _ := invoke(t, nil, "jobs", "show", "tick", "--config", config, "--db", db, "--json")
			return code == 0 && strings.Contains(out, `"watermark": "20`)
		})
		first := last.Add(-(hours - 1) * time.Hour)
		fill := []string{"backfill", "tick", "--from", operations.TimeText(first), "--to", operations.TimeText(last), "--config", config, "--db", db,
			"--parallel", strconv.Itoa(parallel), "--newest-first", "--never-planned", "--why", "import"}
		for i := 0; i < 3; i++ { // killed before, while and after it enters times
			c := spawn(t, []string{"USER=ann", "SVC_URL=" + svc.URL}, fill...)
			time.Sleep(time.Duration(i) * 200 * time.Millisecond)
			c.Kill()
		}
		if code, out, errs := invoke(t, map[string]string{"USER": "ann", "SVC_URL": svc.URL}, fill...); code != 0 {
			t.Fatalf("exit %d: %s%s", code, out, errs)
		}
		begin, kills := time.Now(), 0
		for effects := 0; effects < hours; _, effects = svc.count() {
			if time.Since(begin) > 4*maxWait {
				t.Fatalf("%d effects after %s and %d kills", effects, time.Since(begin), kills)
			}
			time.Sleep(1500 * time.Millisecond)
			if kills < 4 {
				kills++
				p.Kill()
				p = serve()
			}
		}
		eventually(t, "all to be recorded", func() bool {
			return len(listRuns(t, db, "--job", "tick", "--state", "succeeded", "--until", operations.TimeText(last.Add(time.Second)))) == hours
		})
		p.Interrupt()
		seen := map[string]bool{}
		for _, r := range listRuns(t, db, "--job", "tick", "--until", operations.TimeText(last.Add(time.Second))) {
			seen[r.RunID] = true
		}
		for at := first; !at.After(last); at = at.Add(time.Hour) {
			if !seen[jobs.RunID("tick", at)] {
				t.Fatalf("%s has no run", at)
			}
		}
		if most.Load() > parallel {
			t.Errorf("%d calls at a time, want at most %d", most.Load(), parallel)
		}
		if _, effects := svc.count(); len(seen) != hours || effects != hours {
			t.Errorf("%d runs, %d effects, want %d", len(seen), effects, hours)
		}
		t.Logf("%d runs in %s, %d kills of the scheduler, at most %d calls at a time", hours, time.Since(begin).Round(time.Second), kills,
			most.Load())
	})
}
