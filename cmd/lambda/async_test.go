package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/internal/fakelambda"
	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/ledger"
)

// longTarget answers 202 until it is done.
type longTarget struct {
	mu    sync.Mutex
	done  bool
	calls map[string]int
}

func (l *longTarget) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls[r.Header.Get("Idempotency-Key")]++
	if !l.done {
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write([]byte("40 of 100"))
	}
}

func (l *longTarget) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = true
}

func (l *longTarget) want(t *testing.T, runID string, calls int) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls[runID] != calls {
		t.Errorf("%s was asked for %d times, want %d", runID, l.calls[runID], calls)
	}
}

// isIn checks what an event was answered: its run is in this state.
func isIn(t *testing.T, out fakelambda.Outcome, runID string, state ledger.State) {
	t.Helper()
	var a answer
	if err := json.Unmarshal(out.Response, &a); err != nil || a.RunID != runID || a.State != state {
		t.Fatalf("outcome %+v (%s), want %s %s", out, out.Response, runID, state)
	}
}

// pollNow ends the wait of accepted runs.
func pollNow(t *testing.T, db string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	if tag, err := c.Exec(t.Context(), `UPDATE cronce.runs SET due_at = now() WHERE state = 'accepted'`); err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("%d accepted runs, %v", tag.RowsAffected(), err)
	}
}

// The target works on for longer than a function lives and than the platform delivers an
// event again. The event is done when the run is accepted; a tick asks again, or, where
// there is none, the job's next event.
func TestAnAcceptedRunOutlivesItsEvents(t *testing.T) {
	for name, later := range map[string]struct {
		payload func(at time.Time) string
		check   func(*testing.T, fakelambda.Outcome, time.Time)
	}{
		"tick": {func(time.Time) string { return `{"tick":true}` }, func(t *testing.T, out fakelambda.Outcome, _ time.Time) {
			if string(out.Response) != `{"tick":true}` {
				t.Errorf("outcome %+v (%s)", out, out.Response)
			}
		}},
		"the job's next event": {releaseEvent, func(t *testing.T, out fakelambda.Outcome, at time.Time) {
			isIn(t, out, releaseRun(at), ledger.Succeeded)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := testdb.Postgres(t)
			l := migrated(t, db)
			tg := &longTarget{calls: map[string]int{}}
			server := httptest.NewServer(tg)
			t.Cleanup(server.Close)
			config := registryFile(t, strings.Replace(releaseJob, "retry: {", "async: { within: 1h, poll: 5m }, retry: {", 1))
			fn := fakelambda.New(t, binary(t, "bootstrap"),
				"CRONCE_CONFIG="+config, "CRONCE_DATABASE_URL="+db, "MEMBERSHIP_URL="+server.URL, "MEMBERSHIP_TOKEN=secret")
			at := minute()
			first, second := at.Add(-time.Minute), at
			for range 2 { // the second time from the ledger
				isIn(t, fn.Invoke(fakelambda.Event{RequestID: "r-1", Payload: releaseEvent(first)}), releaseRun(first), ledger.Accepted)
			}
			tg.want(t, releaseRun(first), 1)
			if run, _, err := l.Get(t.Context(), releaseRun(first)); err != nil || run.Progress != "40 of 100" {
				t.Errorf("run %+v, %v", run, err)
			}
			tg.finish()
			pollNow(t, db)
			out := fn.Invoke(fakelambda.Event{RequestID: "r-2", Payload: later.payload(second)})
			later.check(t, out, second)
			tg.want(t, releaseRun(first), 2)
			isIn(t, fn.Invoke(fakelambda.Event{RequestID: "r-3", Payload: releaseEvent(first)}), releaseRun(first), ledger.Succeeded)
		})
	}
}
