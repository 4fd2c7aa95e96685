package try_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/targets"
	"github.com/cronce/cronce/targets/try"
)

// longTarget keeps keys, and answers each with 202 so many times before it is done.
func longTarget(accepts int) http.HandlerFunc {
	var mu sync.Mutex
	type record struct {
		body  string
		asked int
	}
	keys := map[string]*record{}
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		key, body := r.Header.Get("Idempotency-Key"), ""
		if b, err := io.ReadAll(r.Body); err == nil {
			body = string(b)
		}
		known := keys[key]
		switch {
		case key == "":
			w.WriteHeader(http.StatusBadRequest)
			return
		case known == nil:
			known = &record{body: body}
			keys[key] = known
		case known.body != body:
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		if known.asked++; known.asked <= accepts {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusAccepted)
			return
		}
		if known.asked > accepts+1 {
			w.Header().Set("Idempotent-Replayed", "true")
		}
		w.WriteHeader(http.StatusOK)
	}
}

func TestLongWorkIsAskedForUntilItIsDone(t *testing.T) {
	for name, c := range map[string]struct {
		accepts int
		within  time.Duration
		outcome try.Outcome
		want    try.CheckAnswer
		detail  string
	}{
		"done after three answers 202": {3, time.Hour, try.NoFaultFound, try.Yes, `^3 answers 202, then HTTP 200$`},
		"no async":                     {3, 0, try.FaultFound, try.No, `^HTTP 202 with Retry-After: .*; set async.within of the job$`},
		"done at once":                 {0, time.Hour, try.NoFaultFound, try.Yes, "^done at once, without a 202$"},
		"never done":                   {1_000_000, time.Microsecond, try.FaultFound, try.No, `^1 answer 202 within 1µs, and no other: the run would be dead \(not_completed\)$`},
	} {
		t.Run(name, func(t *testing.T) {
			svc := httptest.NewServer(longTarget(c.accepts))
			defer svc.Close()
			job := jobs.Job{ID: "long", Schedule: "@hourly", Target: "svc", Path: "/run", Async: jobs.Async{Within: time.Hour}}
			reg, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"}, job)
			if err != nil {
				t.Fatal(err)
			}
			calls, err := targets.New(targets.Config{Registry: reg, Lookup: func(string) (string, bool) { return svc.URL, true }})
			if err != nil {
				t.Fatal(err)
			}
			defer calls.Close()
			job, _ = reg.Job("long")
			if job.Async = (jobs.Async{}); c.within > 0 {
				job.Async = jobs.Async{Within: c.within, Poll: time.Millisecond}
			}
			got, err := try.Run(t.Context(), try.Config{Targets: calls, Registry: "acme", Job: job, Now: time.Now()})
			if err != nil || got.Outcome != c.outcome {
				t.Errorf("%s: %s, %v; %+v", got.Outcome, got.Summary, err, got.Checks)
			}
			i := slices.IndexFunc(got.Checks, func(k try.Check) bool { return k.Check == "long-work" })
			if i < 0 || got.Checks[i].Answer != c.want || !regexp.MustCompile(c.detail).MatchString(got.Checks[i].Detail) {
				t.Errorf("%+v, want %s: %s", got.Checks, c.want, c.detail)
			}
		})
	}
}
