package targets_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/targets"
)

// vendor is a service that takes keys as a vendor documents it, and refuses all others.
type vendor struct {
	header string
	key    *regexp.Regexp
	max    int // of key.max in the registry

	mu      sync.Mutex
	effects map[string]int
	asked   int
}

// ServeHTTP loses the answer of the first call of each key.
func (v *vendor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	keys := r.Header.Values(v.header)
	if len(keys) != 1 || !v.key.MatchString(keys[0]) || r.Header.Get("Cronce-Run-Id") == "" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	v.asked++
	if v.effects[keys[0]]++; v.effects[keys[0]] == 1 {
		panic(http.ErrAbortHandler)
	}
	v.effects[keys[0]] = 2 // an effect, and any number of repetitions
	w.Header().Set("Idempotent-Replayed", "true")
}

// Limits as the vendors document them; three are made up: any text, UUIDs of version 4
// alone, and a short reference.
var vendors = map[string]*vendor{
	"Stripe":          {header: "Idempotency-Key", key: regexp.MustCompile(`^.{1,255}$`), max: 255},
	"Amazon Pay":      {header: "x-amz-pay-idempotency-key", key: regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)},
	"Worldline":       {header: "X-GCS-Idempotence-Key", key: regexp.MustCompile(`^[ -~]{1,40}$`)},
	"Snippe":          {header: "Idempotency-Key", key: regexp.MustCompile(`^[ -~]{1,30}$`), max: 30},
	"AWS Lambda":      {header: "X-Amz-Durable-Execution-Name", key: regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)},
	"Iceberg":         {header: "Idempotency-Key", key: regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`), max: 36},
	"Adyen":           {header: "idempotency-key", key: regexp.MustCompile(`^[ -~]{1,64}$`), max: 64},
	"any text":        {header: "Idempotency-Key", key: regexp.MustCompile(`^[!-~]{1,128}$`)},
	"UUIDs alone":     {header: "X-Request-Id", key: regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`), max: 36},
	"short reference": {header: "X-Reference", key: regexp.MustCompile(`^[A-Za-z0-9_-]{1,25}$`), max: 25},
}

var formsOf = map[string]jobs.KeyForm{"Iceberg": jobs.KeyUUID7, "UUIDs alone": jobs.KeyUUID4}

func TestNoVendorTakesARetryAsNewWork(t *testing.T) {
	for name, v := range vendors {
		t.Run(name, func(t *testing.T) {
			v.effects = map[string]int{}
			s := httptest.NewServer(v)
			defer s.Close()
			reg := forVendor(t, v, formsOf[name])
			ts, err := targets.New(targets.Config{Registry: reg, Lookup: env{"VENDOR_URL": s.URL}.lookup})
			if err != nil {
				t.Fatal(err)
			}
			defer ts.Close()
			j, _ := reg.Job("release-commission-locks")
			at := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
			for _, id := range []string{jobs.RunID(j.ID, at), jobs.RunID(j.ID, at.Add(24*time.Hour)), jobs.RunIDWithToken(j.ID, at, "019aa5c4-6f3e-7a0e-8f00-3c5d1c1f0b2a")} {
				for n, want := range []ledger.AnswerKind{ledger.AnswerUnknown, ledger.AnswerReplayed, ledger.AnswerReplayed} {
					c := executor.Call{Registry: "acme", Work: ledger.Work{RunID: id, JobID: j.ID, ScheduledAt: at, Attempt: n + 1, Call: executor.FrozenCall(j, id, at)}}
					if a := attempt(t, ts, c, maxWait); a.Kind != want {
						t.Errorf("attempt %d of %s: %+v, want %s", n+1, id, a, want)
					}
				}
			}
			if len(v.effects) != 3 || v.asked != 9 {
				t.Errorf("%d effects in %d calls, want 3 in 9: %v", len(v.effects), v.asked, v.effects)
			}
		})
	}
}

// forVendor is a registry with the first form of key, or the given one, that it accepts for
// the vendor's limits.
func forVendor(t *testing.T, v *vendor, form jobs.KeyForm) *jobs.Registry {
	t.Helper()
	forms := []jobs.KeyForm{jobs.KeyRunID, jobs.KeyToken64, jobs.KeyHex32, jobs.KeyToken22}
	if form != "" {
		forms = []jobs.KeyForm{form}
	}
	var err error
	for _, form := range forms {
		var reg *jobs.Registry
		key := jobs.Key{Header: v.header, Form: form, Max: v.max}
		if reg, err = jobs.NewRegistry(jobs.Name("acme"), jobs.Target{Name: "vendor", URLEnv: "VENDOR_URL", Key: key},
			jobs.Job{ID: "release-commission-locks", Schedule: "@daily", Target: "vendor", Path: "/pay"}); err == nil {
			return reg
		}
	}
	t.Fatal(err)
	return nil
}

func TestAFormOfKeyThatIsNotKnownIsNotSent(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a call was made") })
	c := call()
	c.Call.KeyForm = "ulid"
	if a := attempt(t, to(t, s.URL), c, maxWait); a.Kind != ledger.AnswerRefused || a.Error == "" {
		t.Errorf("%+v", a)
	}
}
