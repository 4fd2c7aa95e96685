package executor_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

func noonInTokyo() jobs.Job {
	j := minutely("a")
	j.Schedule, j.Timezone = "0 12 * * *", "Asia/Tokyo"
	return j
}

// formerRelease makes the ledger as a process leaves it that had another release of the
// time zones, in which Tokyo's offset was this one.
func formerRelease(t *testing.T, l *memory.Ledger, reg *jobs.Registry, offset time.Duration) {
	t.Helper()
	var defs []ledger.Definition
	for _, j := range reg.Jobs() {
		body, hash, err := j.Definition()
		if err != nil {
			t.Fatal(err)
		}
		var d map[string]any
		if err := json.Unmarshal(body, &d); err != nil {
			t.Fatal(err)
		}
		from := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
		d["zones"], d["shifts"] = "2025a", []int64{from.Unix(), int64(offset.Seconds()), from.AddDate(5, 0, 0).Unix()}
		if body, err = json.Marshal(d); err != nil {
			t.Fatal(err)
		}
		defs = append(defs, ledger.Definition{JobID: j.ID, Hash: "former" + hash, Body: body})
	}
	if err := l.Declare(t.Context(), ledger.Declaration{Process: "former", Registry: "test", Version: "former", Definitions: slices.Values(defs)}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Assignments(t.Context(), "former", ""); err != nil {
		t.Fatal(err)
	}
	time.Sleep(ledger.ProcessTTL + time.Second) // it is gone
}

// until sleeps up to a time of 26 November 2026 or the days after it.
func until(t *testing.T, clock string) {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04:05", "2026-11-"+clock)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Until(at))
}

func scheduledTimes(t *testing.T, l *memory.Ledger) (list []string) {
	t.Helper()
	for _, r := range mustList(t, l, ledger.Filter{}) {
		if r.JobID == "a" {
			list = append(list, fmt.Sprintf("%s %s %s", r.ScheduledAt.Format("02T15:04"), r.State, r.Call.Path))
		}
	}
	slices.Sort(list)
	return list
}

// Noon in Tokyo is 03:00 UTC. In the former release it was at another time, and each day
// has one noon.
func TestNewZonesLoseAndRepeatNoScheduledTime(t *testing.T) {
	edited := noonInTokyo()
	edited.Path = "/edited"
	sooner := noonInTokyo()
	sooner.Schedule = "30 13 * * *"
	for _, c := range []struct {
		rule            string
		former          time.Duration
		started, update string
		job             jobs.Job
		want            []string
	}{
		{"between the new and the former noon", 7 * time.Hour, "26 03:30:00", "26 04:00:00", noonInTokyo(),
			[]string{"26T05:00 succeeded /a", "27T03:00 succeeded /a"}},
		{"between the former and the new noon", 11 * time.Hour, "26 00:30:00", "26 02:00:00", noonInTokyo(),
			[]string{"26T01:00 succeeded /a", "27T03:00 succeeded /a"}},
		{"before both", 7 * time.Hour, "26 01:00:00", "26 02:00:00", noonInTokyo(),
			[]string{"26T03:00 succeeded /a", "27T03:00 succeeded /a"}},
		{"after both", 7 * time.Hour, "26 05:30:00", "26 06:00:00", noonInTokyo(),
			[]string{"27T03:00 succeeded /a"}},
		{"an edit that comes with it", 7 * time.Hour, "26 03:30:00", "26 04:00:00", edited,
			[]string{"26T05:00 succeeded /a", "27T03:00 succeeded /edited"}},
		{"an edit of the schedule is not put off", 7 * time.Hour, "26 03:30:00", "26 04:00:00", sooner,
			[]string{"26T04:30 succeeded /a", "27T04:30 succeeded /a"}},
		{"after two days in which nothing ran", 7 * time.Hour, "24 03:30:00", "26 04:00:00", noonInTokyo(),
			[]string{"24T05:00 missed ", "25T05:00 succeeded /a", "26T05:00 succeeded /a", "27T03:00 succeeded /a"}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, svc := memory.New(), applying()
				until(t, c.started)
				formerRelease(t, l, registry(t, noonInTokyo()), c.former)
				until(t, c.update)
				_, stop := start(t, executor.Config{Registry: registry(t, c.job), Ledger: l, Caller: svc})
				until(t, "27 06:00:00")
				stop()
				if got := scheduledTimes(t, l); !slices.Equal(got, c.want) {
					t.Errorf("got  %q\nwant %q", got, c.want)
				}
			})
		})
	}
}

// The former definition's run is not late, although no process has that definition.
func TestNewZonesPlanTheFormerTimeOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), applying()
		until(t, "26 03:30:00")
		formerRelease(t, l, registry(t, noonInTokyo()), 7*time.Hour)
		until(t, "26 04:00:00")
		_, stop := start(t, executor.Config{Registry: registry(t, noonInTokyo()), Ledger: l, Caller: svc})
		until(t, "26 05:00:01")
		stop()
		if len(svc.calls) != 1 {
			t.Errorf("%d calls a second after the former noon", len(svc.calls))
		}
	})
}

// A Lambda has no process between its ticks.
func TestNewZonesInTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), applying()
		until(t, "26 03:30:00")
		formerRelease(t, l, registry(t, noonInTokyo()), 7*time.Hour)
		until(t, "26 04:00:00")
		for at := time.Now(); at.Day() < 27 || at.Hour() < 6; at = at.Add(time.Minute) {
			time.Sleep(time.Until(at))
			e, err := executor.New(executor.Config{Registry: registry(t, noonInTokyo()), Ledger: l, Caller: svc})
			if err != nil {
				t.Fatal(err)
			}
			tick(t, e, 50*time.Second)
		}
		if got, want := scheduledTimes(t, l), []string{"26T05:00 succeeded /a", "27T03:00 succeeded /a"}; !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	})
}

// A job that was removed together with the update ends at once.
func TestNewZonesDoNotKeepARemovedJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), applying()
		until(t, "26 03:30:00")
		formerRelease(t, l, registry(t, noonInTokyo()), 7*time.Hour)
		until(t, "26 04:00:00")
		_, stop := start(t, executor.Config{Registry: registry(t, minutely("b")), Ledger: l, Caller: svc})
		until(t, "26 06:00:00")
		stop()
		if got := scheduledTimes(t, l); len(got) != 0 {
			t.Errorf("a removed job has %q", got)
		}
	})
}
