package cli_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/cronce/cronce/targets/try"
)

const berlinRegistry = `version: 1
name: acme-platform
targets:
  svc: { urlEnv: MEMBERSHIP_URL }
jobs:
  - { id: close, schedule: "30 2 * * *", timezone: Europe/Berlin, target: svc, path: /v1/close }
`

// keysSeen is a fake target and the keys that it got, in order, each once.
func keysSeen(t *testing.T, defect string) (d *desk, keys func() []string) {
	t.Helper()
	svc := &fake{defect: defect, seen: map[string]string{}}
	var mu sync.Mutex
	var list []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if key := r.Header.Get("Idempotency-Key"); key != "" && (len(list) == 0 || list[len(list)-1] != key) {
			list = append(list, key)
		}
		mu.Unlock()
		svc.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	d = newDesk(t, berlinRegistry)
	d.env["MEMBERSHIP_URL"] = s.URL
	return d, func() []string { return list }
}

func TestTryAtAScheduledTimeHasTheKeyOfItsRun(t *testing.T) {
	t.Parallel()
	d, keys := keysSeen(t, "")
	code, _, got := tryOf(t, d, "close", "--at", "2026-03-29T01:00:00Z")
	if code != 0 || len(keys()) != 1 || keys()[0] != "close@2026-03-29T01:00:00Z" || got.RunID != keys()[0] || got.Key != keys()[0] {
		t.Errorf("exit %d, keys %q, %s %s", code, keys(), got.RunID, got.Key)
	}
	// Again it is no new work, which is not passed off as a success.
	if code, answers, got := tryOf(t, d, "close", "--at", "2026-03-29T01:00:00Z"); code != exitFailed || answers["new-key"] != try.Unclear || got.Outcome != try.Inconclusive {
		t.Errorf("the key a second time: exit %d, %s", code, got.Summary)
	}
}

func TestTryRefusesTimesWithoutARunAndAsksBeforeThoseToCome(t *testing.T) {
	t.Parallel()
	d, keys := keysSeen(t, "")
	for args, want := range map[string]string{
		"close --at 2026-03-29T02:30:00Z":                             "not a scheduled time of close; the nearest are 2026-03-29T01:00:00Z and 2026-03-30T00:30:00Z",
		"close --at 2099-01-01T01:30:00Z":                             "still to come: it will find its key used, and have no effect. Confirm with --yes",
		"close --from 2026-03-01T03:00:00Z --to 2026-03-01T04:00:00Z": "close has no scheduled time from",
		"close --from 2026-03-01":                                     "--from and --to belong together",
		"close --from 1970-01-01 --to 2026-01-01":                     "more than 10000 scheduled times",
		"--at 2026-03-29T01:30:00Z":                                   "name the job to try",
		"close --at 1d --from 2d --to 1d":                             "do not go with",
	} {
		code, out, errs := d.run(append([]string{"try"}, strings.Fields(args)...)...)
		if text := strings.Join(strings.Fields(out+errs), " "); code != exitUsage || !strings.Contains(text, want) {
			t.Errorf("%s: exit %d, %s; want %q", args, code, text, want)
		}
	}
	if len(keys()) != 0 {
		t.Errorf("calls were made: %q", keys())
	}
	if code, _, got := tryOf(t, d, "close", "--yes", "--at", "2099-01-01T01:30:00Z"); code != 0 {
		t.Errorf("with --yes: exit %d, %s", code, got.Summary)
	}
}

// In March the clocks of Berlin skip 02:30 on the 29th, and the schedule moves it.
func TestTryGoesThroughAMonth(t *testing.T) {
	t.Parallel()
	d, keys := keysSeen(t, "")
	code, out, errs := d.run("try", "close", "--from", "2026-03-01", "--to", "2026-04-01", "--json")
	var got try.TimesReport
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 {
		t.Fatalf("exit %d: %v\n%s%s", code, err, out, errs)
	}
	if len(got.Times) != 31 || len(keys()) != 31 || keys()[28] != "close@2026-03-29T01:00:00Z" || keys()[29] != "close@2026-03-30T00:30:00Z" {
		t.Errorf("%d times, %d keys: %q", len(got.Times), len(keys()), keys())
	}
	for _, r := range got.Times {
		if r.Verdict != try.Yes || r.Answer != "fresh" || r.Again != "replayed" {
			t.Errorf("%+v", r)
		}
	}
	d, _ = keysSeen(t, "ignores the key")
	if code, out, _ := d.run("try", "close", "--from", "2026-03-28", "--to", "2026-03-31"); code != exitFailed || !strings.Contains(out, "3 scheduled times: at 3 the same call again had another answer") || !strings.Contains(out, "forward 1h0m0s") {
		t.Errorf("a target without keys: exit %d\n%s", code, out)
	}
}
