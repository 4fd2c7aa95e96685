package serve

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/cronce/cronce/api"
	"github.com/cronce/cronce/internal/access"
)

// The dashboard's requests count for the limits of the API.
func TestTheDashboardIsLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		pages := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				<-end
			}
		})
		g := guard{access.Loopback{}, api.NewGate(access.Loopback{}), slog.New(slog.DiscardHandler)}
		h := g.dashboard(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9464}, pages)
		ask := func(path string) *httptest.ResponseRecorder {
			r, w := httptest.NewRequest(http.MethodGet, path, nil), httptest.NewRecorder()
			r.RemoteAddr, r.Host = "127.0.0.1:1000", "localhost"
			h.ServeHTTP(w, r)
			return w
		}
		for range 32 {
			go ask("/slow")
		}
		synctest.Wait()
		if w := ask("/"); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
			t.Errorf("beside 32 requests: %d %v", w.Code, w.Header())
		}
		close(end)
		synctest.Wait()
		if w := ask("/"); w.Code != http.StatusOK {
			t.Errorf("after them: %d %s", w.Code, w.Body)
		}
	})
}
