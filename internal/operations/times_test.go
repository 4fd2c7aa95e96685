package operations_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/internal/operations"
)

func TestTimesWithoutAnOffsetAreInTheZone(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Australia/Lord_Howe") // half an hour of summer time
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"2026-11-21T03:00": "2026-11-20T16:00:00Z", "2026-07-21": "2026-07-20T13:30:00Z", "2026-11-21T03:00:00Z": "2026-11-21T03:00:00Z",
		"22:59": "2026-11-21T11:59:00Z", "23:01": "2026-11-20T12:01:00Z", "24h": "2026-11-20T12:00:00Z",
		"2026-04-05 01:45": "2026-04-04T14:45:00Z", // comes twice
		"2026-04-05 02:00": "2026-04-04T15:30:00Z",
		"2026-04-05 01:15": "2026-04-04T14:15:00Z",
	} {
		if at, ok := operations.ParseTime(text, now, zone); !ok || at.UTC().Format(time.RFC3339) != want {
			t.Errorf("%s is %s, want %s", text, at.UTC().Format(time.RFC3339), want)
		}
	}
}
