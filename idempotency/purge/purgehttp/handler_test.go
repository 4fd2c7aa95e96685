package purgehttp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/purge"
	"github.com/cronce/cronce/idempotency/purge/purgehttp"
)

// heap is a store of expired keys, by scope.
type heap struct {
	keys map[string]int64
	err  error
}

func (h *heap) PurgeBatch(_ context.Context, p purge.Batch) (purge.BatchResult, error) {
	done := purge.BatchResult{Scopes: map[string]int64{}, Last: p.After}
	for s := range h.keys {
		if n := min(h.keys[s], int64(p.Limit-done.Rows)); n > 0 && (p.Scope == "" || p.Scope == s) {
			h.keys[s] -= n
			done.Scopes[s] += n
			done.Rows += int(n)
		}
	}
	return done, h.err
}

func (h *heap) CountExpired(_ context.Context, scope string) (map[string]int64, error) {
	counts := map[string]int64{}
	for s, n := range h.keys {
		if scope == "" || scope == s {
			counts[s] = n
		}
	}
	return counts, h.err
}

func askPurge(t *testing.T, h *heap, o purgehttp.Options, method, target string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	purgehttp.Handler(h, o).ServeHTTP(w, httptest.NewRequest(method, target, nil))
	return w.Code, strings.TrimSpace(w.Body.String())
}

func TestPurgeHandler(t *testing.T) {
	for _, tc := range []struct {
		rule, method, target string
		status               int
		body                 string
		left                 int64 // of both scopes
	}{
		{"POST removes what has expired, and counts it by scope", "POST", "/purge", 200,
			`{"deleted":10,"scopes":[{"scope":"a","deleted":7},{"scope":"b","deleted":3}],"done":true}`, 0},
		{"of one scope", "POST", "/purge?scope=b", 200, `{"deleted":3,"scopes":[{"scope":"b","deleted":3}],"done":true}`, 7},
		{"of a scope without keys", "POST", "/purge?scope=c", 200, `{"deleted":0,"scopes":[],"done":true}`, 10},
		{"a dry run removes nothing", "POST", "/purge?dryRun=true&scope=a", 200,
			`{"deleted":7,"scopes":[{"scope":"a","deleted":7}],"done":true,"dryRun":true}`, 10},
		{"GET changes nothing", "GET", "/purge", 405, "use POST: this removes expired idempotency keys", 10},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			h := &heap{keys: map[string]int64{"a": 7, "b": 3}}
			status, body := askPurge(t, h, purgehttp.Options{Pace: purge.Pace{BatchSize: 4, Share: 1}}, tc.method, tc.target)
			if status != tc.status || body != tc.body || h.keys["a"]+h.keys["b"] != tc.left {
				t.Errorf("%d %s, left %v", status, body, h.keys)
			}
		})
	}
}

func TestPurgeHandlerSaysWhenItsTimeWasOver(t *testing.T) {
	h := &heap{keys: map[string]int64{"a": 100}}
	o := purgehttp.Options{Pace: purge.Pace{BatchSize: 1, Share: 1, For: time.Nanosecond}}
	if status, body := askPurge(t, h, o, "POST", "/"); status != 200 || !strings.Contains(body, `"done":false`) {
		t.Error(status, body)
	}
}

func TestPurgeHandlerAnswers503WhenTheStoreFails(t *testing.T) {
	h := &heap{keys: map[string]int64{"a": 1}, err: idempotency.ErrUnavailable}
	for _, target := range []string{"/", "/?dryRun=true"} {
		status, body := askPurge(t, h, purgehttp.Options{}, "POST", target)
		var p idempotency.Problem
		if err := json.Unmarshal([]byte(body), &p); err != nil || status != http.StatusServiceUnavailable || p.Code != idempotency.CodeUnavailable {
			t.Errorf("%s: %d %s", target, status, body)
		}
	}
}

// A dry run that is not written as documented must not delete.
func TestPurgeHandlerRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, query := range []string{"dryRun=1", "dryRun=TRUE", "dryRun", "dryrun=true", "dry-run=true", "dryRun=false&dryRun=true", "scope=a&scope=b", "scope=", "scope=a*", "scope=%zz", "x=1"} {
		h := &heap{keys: map[string]int64{"a": 7, "b": 3}}
		status, body := askPurge(t, h, purgehttp.Options{}, "POST", "/purge?"+query)
		if status != 400 || !strings.Contains(body, idempotency.CodeInvalidRequest) || h.keys["a"]+h.keys["b"] != 10 {
			t.Errorf("?%s: %d %s, left %v", query, status, body, h.keys)
		}
	}
}
