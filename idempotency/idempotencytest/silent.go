package idempotencytest

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency"
)

// freedAfter has work fall silent after its write, and another caller take its
// key; false when the work did not come so far within its MaxRun.
func freedAfter(t *testing.T, e Engine, maxRun time.Duration) bool {
	t.Helper()
	silent := idempotency.Route{Scope: scope, MaxRun: maxRun}
	wrote, release, answered := make(chan error, 1), make(chan struct{}), make(chan *httptest.ResponseRecorder, 1)
	go func() {
		answered <- post(kit(t, e.Store).Handler(silent, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			wrote <- e.Write(r.Context(), "silent")
			<-release // as a stopped process: not even its context's end is heard
		})), "k", `{}`)
	}()
	var err error
	select {
	case err = <-wrote:
	case w := <-answered: // without having come to its work
		expect(t, w, 503, "", false)
		return false
	}
	if err != nil {
		close(release)
		expect(t, <-answered, 503, "", false)
		return false
	}
	expect(t, post(kit(t, e.Other, wait(maxRun+maxWait)).Handler(route, pay(e, 200, "")), "k", `{}`), 200, "", false)
	close(release)
	expect(t, <-answered, 503, "run_too_long", false)
	written(t, e, "silent", 0)
	written(t, e, "paid", 1)
	return true
}
