package ledger

import (
	"testing"
	"time"
)

// A look begins ten seconds before the first schedule that the last one found, and once a minute
// at the very first.
func TestALookForDueSchedulesBeginsAtTheFloor(t *testing.T) {
	start := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	var f dueFloor
	for i, c := range []struct {
		templates string
		now       int // seconds
		first     int
		want      int // 0: a full look
	}{
		{"a", 0, 100, 0},
		{"a", 5, 100, -10}, // nothing was due: ten seconds before the time of the look
		{"a", 20, 12, -5},  // one is due since 12 s
		{"a", 21, 100, 2},  // from ten seconds before that
		{"a", 59, 100, 11},
		{"a", 60, 100, 49}, // the last of this minute
		{"a", 61, 100, 0},
		{"a", 62, 100, 51},
		{"ab", 63, -1000, 0},    // another template may have older ones
		{"ab", 64, -900, -1010}, // not planned yet
		{"ab", 65, 100, -910},
		{"ab", 80, 100, 55},
		{"ab", 65, 100, 70}, // the clock was set back by more than ten seconds
		{"ab", 66, 100, 0},
		{"ab", 30, 100, 56},
		{"ab", 31, 100, 0},
	} {
		want := time.Unix(0, 0)
		if c.want != 0 {
			want = start.Add(time.Duration(c.want) * time.Second)
		}
		if got := f.since([]string{c.templates}); !got.Equal(want) {
			t.Errorf("look %d begins at %s, want %s", i, got, want)
		}
		f.raise(map[string]time.Time{"a": start.Add(time.Duration(c.first) * time.Second)}, start.Add(time.Duration(c.now)*time.Second))
	}
}
