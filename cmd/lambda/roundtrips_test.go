package main

import (
	"testing"
	"time"

	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/jobs"
)

// An event's first answer waits for each round trip to the database, and each event
// is answered over a session of its own.
func TestAnEventAsksTheDatabaseSeldom(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	migrated(t, db)
	relay := testdb.NewRelay(t, db)
	newFunction := func() *handler {
		h, _ := newTestHandler(t, fresh, jobs.Job{ID: "minutely", Schedule: "* * * * *"})
		h.useLedger(t, relay.URL)
		return h
	}
	if err := inTime(t, newFunction(), time.Minute, `{"jobId":"minutely","id":"z"}`); err != nil { // the ledger is the registry's now
		t.Fatal(err)
	}
	h := newFunction()
	for _, tc := range []struct {
		name, payload string
		most          int64
	}{
		{"the first", `{"jobId":"minutely","id":"a"}`, 10},
		{"work under its own id", `{"jobId":"minutely","id":"b"}`, 9},
		{"a job that the ledger does not know", `{"jobId":"minutely","scheduledAt":"` + minute().Format(time.RFC3339) + `"}`, 9},
		{"a scheduled time", `{"jobId":"minutely","scheduledAt":"` + minute().Add(-time.Minute).Format(time.RFC3339) + `"}`, 8},
		{"a repeat of it", `{"jobId":"minutely","scheduledAt":"` + minute().Add(-time.Minute).Format(time.RFC3339) + `"}`, 4},
	} {
		before := relay.Trips()
		if err := inTime(t, h, time.Minute, tc.payload); err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if got := relay.Trips() - before; got < 2 || got > tc.most {
			t.Errorf("%s: %d round trips, want at most %d", tc.name, got, tc.most)
		}
	}
}
