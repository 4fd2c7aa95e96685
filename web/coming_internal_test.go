package web

import (
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

func jobOf(t *testing.T, schedule string) jobs.Job {
	t.Helper()
	reg, err := jobs.Parse("cronce.yaml", []byte("{name: a, jobs: [{id: j, schedule: '"+schedule+"', targetUrlEnv: A, path: /j}]}"))
	if err != nil {
		t.Fatal(err)
	}
	j, _ := reg.Job("j")
	return j
}

func pauseOf(selector ledger.Selector, from, until time.Time) ledger.Pause {
	return ledger.Pause{Kind: ledger.PauseSkip, Selector: selector, From: from, Until: until}
}

// Of the scheduled times of the next hour those in a pause do not come, and those before and after
// it do.
func TestTheNextHourLeavesOutWhatIsPaused(t *testing.T) {
	now := time.Date(2026, 11, 27, 3, 0, 0, 500, time.UTC)
	at := func(m int) time.Time { return now.Truncate(time.Minute).Add(time.Duration(m) * time.Minute) }
	own := ledger.Selector{Job: "j"}
	for name, c := range map[string]struct {
		schedule string
		pauses   []ledger.Pause
		total    int
		first    time.Time
	}{
		"none":            {"* * * * *", nil, 60, at(1)},
		"one that lasts":  {"* * * * *", []ledger.Pause{pauseOf(own, at(-9), at(10))}, 51, at(10)},
		"one to come":     {"* * * * *", []ledger.Pause{pauseOf(own, at(20), at(30))}, 50, at(1)},
		"of another job":  {"* * * * *", []ledger.Pause{pauseOf(ledger.Selector{Job: "k"}, at(-9), at(90))}, 60, at(1)},
		"the whole hour":  {"* * * * *", []ledger.Pause{pauseOf(own, at(-9), at(90))}, 0, time.Time{}},
		"dense":           {"*/10 * * * * *", []ledger.Pause{pauseOf(own, at(20), at(30)), pauseOf(own, at(25), at(35))}, 360 - 90, at(0).Add(10 * time.Second)},
		"dense, now":      {"*/10 * * * * *", []ledger.Pause{pauseOf(own, at(-5), at(1))}, 360 - 5, at(1)},
		"dense, of other": {"*/10 * * * * *", []ledger.Pause{pauseOf(ledger.Selector{Job: "k"}, at(20), at(30))}, 360, at(0).Add(10 * time.Second)},
	} {
		got, minutes := coming{From: now}, [60]int{}
		got.add(jobOf(t, c.schedule), c.pauses, &minutes)
		sum := 0
		for _, n := range minutes {
			sum += n
		}
		if got.Total != c.total || sum != c.total {
			t.Errorf("%s: %d in all, %d in minutes, want %d", name, got.Total, sum, c.total)
		}
		if first := append(got.First, comingRun{}); !first[0].At.Equal(c.first) {
			t.Errorf("%s: first at %s, want %s", name, first[0].At, c.first)
		}
	}
}
