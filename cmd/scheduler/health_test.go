package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A process whose planner hangs must be restarted by what watches it; one whose
// ledger fails must not.
func TestLivenessFollowsThePlanner(t *testing.T) {
	t.Parallel()
	for age, want := range map[time.Duration]int{
		0: http.StatusOK, time.Second: http.StatusOK, stalledAfter: http.StatusOK,
		stalledAfter + time.Second: http.StatusServiceUnavailable, 24 * time.Hour: http.StatusServiceUnavailable,
	} {
		answer := httptest.NewRecorder()
		liveness(func() time.Duration { return age })(answer, httptest.NewRequest(http.MethodGet, "/healthz", http.NoBody))
		if answer.Code != want {
			t.Errorf("planner looked %s ago: status %d, want %d", age, answer.Code, want)
		}
		if want != http.StatusOK && !strings.Contains(answer.Body.String(), age.String()) {
			t.Errorf("planner looked %s ago: the answer does not say so: %q", age, answer.Body)
		}
	}
}
