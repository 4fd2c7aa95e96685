package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cronce/cronce/api"
	"github.com/cronce/cronce/internal/operations"
)

// unending is a body that ends when the test lets it.
type unending chan struct{}

func (u unending) Read([]byte) (int, error) { <-u; return 0, io.EOF }

// An identity has 32 requests in progress, and the process 128: others are refused
// until one has ended.
func TestRequestsInProgressAreLimited(t *testing.T) {
	s := onFile(t, loopback).inMemory()
	synctest.Test(t, func(*testing.T) {
		h := api.New(s.config(everyone{}))
		ask := func(who, method, path string, body io.Reader) answer {
			r, w := httptest.NewRequest(method, path, body), httptest.NewRecorder()
			r.Header.Set("X-Request", who)
			r.Header.Set("Content-Type", "application/json")
			h.ServeHTTP(w, r)
			a := answer{w.Result(), w.Body.Bytes()}
			s.hold(r, a)
			return a
		}
		waiting := func(who string, n int) unending {
			end := make(unending)
			for range n {
				go ask(who, http.MethodPost, "/v1/jobs/tick/pause", end)
			}
			synctest.Wait()
			return end
		}
		asked := func(who string, want int) {
			s.Helper()
			a := ask(who, http.MethodGet, "/v1/status", nil)
			if a.StatusCode != want {
				s.Errorf("%s: %d %s, want %d", who, a.StatusCode, a.body, want)
			}
			if want == http.StatusTooManyRequests && (a.code(s.TB) != "too_many_in_progress" || a.Header.Get("Retry-After") == "") {
				s.Errorf("%s: %s %v", who, a.body, a.Header)
			}
		}
		last := waiting("ann", 31)
		asked("ann", http.StatusOK)
		first := waiting("ann", 1)
		asked("ann", http.StatusTooManyRequests)
		asked("bob", http.StatusOK)
		close(first)
		synctest.Wait()
		asked("ann", http.StatusOK)
		all := []unending{last}
		for i := range 97 {
			all = append(all, waiting(strconv.Itoa(i), 1))
		}
		asked("bob", http.StatusTooManyRequests)
		for _, end := range all {
			close(end)
		}
		synctest.Wait()
		asked("bob", http.StatusOK)
	})
}

// slow is a client that reads when the test lets it.
type slow struct {
	*httptest.ResponseRecorder
	reads chan struct{}
}

func (s slow) Write(p []byte) (int, error) { <-s.reads; return s.ResponseRecorder.Write(p) }

// Clients that read slowly take 4 of the requests of their identity, and no more.
func TestExportsInProgressAreLimited(t *testing.T) {
	s := onFile(t, loopback).inMemory()
	synctest.Test(t, func(*testing.T) {
		h, reads := api.New(s.config(everyone{})), make(chan struct{})
		ask := func(who, path string, w http.ResponseWriter) {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.Header.Set("X-Request", who)
			h.ServeHTTP(w, r)
		}
		asked := func(who, path string, want int) {
			s.Helper()
			w := httptest.NewRecorder()
			ask(who, path, w)
			if w.Code != want {
				s.Errorf("%s of %s: %d %s, want %d", path, who, w.Code, w.Body, want)
			}
		}
		for range 4 {
			go ask("ann", "/v1/export/runs", slow{httptest.NewRecorder(), reads})
		}
		synctest.Wait()
		asked("ann", "/v1/export/runs", http.StatusTooManyRequests)
		asked("ann", "/v1/status", http.StatusOK)
		asked("bob", "/v1/export/runs", http.StatusOK)
		close(reads)
		synctest.Wait()
		asked("ann", "/v1/export/runs", http.StatusOK)
	})
}

// A preview needs no key and stores none: it is made anew each time, and its key is
// still free for the act.
func TestAPreviewStoresNoKey(t *testing.T) {
	engines(t, func(s *site) {
		preview := func(key ...string) operations.RunActionResult {
			s.Helper()
			r, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.server.URL+"/v1/runs/ack", strings.NewReader(`{"by":"ann","why":"a test","job":"tick","dryRun":true}`))
			s.must(err)
			r.Header.Set("Content-Type", "application/json")
			r.Header["Idempotency-Key"] = key
			res, err := s.server.Client().Do(r)
			s.must(err)
			defer res.Body.Close()
			a := answer{Response: res}
			a.body, err = io.ReadAll(res.Body)
			s.must(err)
			s.hold(r, a)
			if a.StatusCode != http.StatusOK || a.Header.Get("Idempotent-Replayed") != "" {
				s.Fatalf("%d %s, %v", a.StatusCode, a.body, a.Header)
			}
			var done operations.RunActionResult
			a.into(s.TB, &done)
			return done
		}
		if done := preview(); !done.DryRun || len(done.Changed) != 1 {
			s.Errorf("without a key: %+v", done)
		}
		if done := preview("k"); len(done.Changed) != 1 {
			s.Errorf("with a key: %+v", done)
		}
		if a := s.act("/v1/runs/ack", map[string]any{"job": "tick"}, "Idempotency-Key", "k"); a.StatusCode != http.StatusOK {
			s.Errorf("the act under the preview's key: %d %s", a.StatusCode, a.body)
		}
		if done := preview("k"); len(done.Changed) != 0 {
			s.Errorf("after the act: %+v, want a new preview", done)
		}
		if a := s.act("/v1/jobs/tick/backfill", map[string]any{"from": "2026-11-22T00:00:00Z", "dryRun": true}, "Idempotency-Key", strings.Repeat("k", 500)); a.StatusCode != http.StatusOK {
			s.Errorf("a backfill: %d %s", a.StatusCode, a.body)
		}
	})
}
