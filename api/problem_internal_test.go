package api

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/ledger"
)

// An answer after which the same request may succeed says when to repeat it; one that a
// repetition cannot change does not.
func TestOnlyAProblemThatPassesHasARetryAfter(t *testing.T) {
	s := &server{log: slog.New(slog.DiscardHandler)}
	for _, c := range []struct {
		err    error
		status int
		again  bool
	}{
		{fmt.Errorf("list: %w", ledger.ErrUnavailable), http.StatusServiceUnavailable, true},
		{problem(http.StatusTooManyRequests, "too_many_requests", "slower"), http.StatusTooManyRequests, true},
		{idempotency.ErrInvalidKey, http.StatusBadRequest, false},
		{forbidden("no"), http.StatusForbidden, false},
		{errors.New("bug"), http.StatusInternalServerError, false},
	} {
		w := httptest.NewRecorder()
		s.fail(w, httptest.NewRequest(http.MethodPost, "/v1/jobs/tick/trigger", nil), c.err)
		if again := w.Header().Get("Retry-After") != ""; w.Code != c.status || again != c.again {
			t.Errorf("%v: %d, Retry-After %q; want %d, Retry-After %t", c.err, w.Code, w.Header().Get("Retry-After"), c.status, c.again)
		}
	}
}
