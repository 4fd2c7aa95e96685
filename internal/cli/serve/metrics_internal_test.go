package serve

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// The metrics need no identity, so each network gets its share of them, and a flood of
// one leaves the others theirs.
func TestAFloodOfScrapesIsPutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		served := 0
		h := limited(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
		ask := func(from string, times int) (last *httptest.ResponseRecorder) {
			served = 0
			for range times {
				r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
				r.RemoteAddr = from
				last = httptest.NewRecorder()
				h.ServeHTTP(last, r)
			}
			return last
		}
		if w := ask("10.0.0.1:1", 1000); served != 10 || w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
			t.Errorf("%d of 1000 scrapes at once were served; the last: %d %v", served, w.Code, w.Header())
		}
		ask("10.0.0.2:1", 1)
		if served != 1 {
			t.Error("another address was put off")
		}
		time.Sleep(time.Second)
		ask("10.0.0.1:2", 1000)
		if served != 5 {
			t.Errorf("%d scrapes were served a second later, want 5", served)
		}
	})
}
