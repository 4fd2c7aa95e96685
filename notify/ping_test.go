package notify_test

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/notify"
)

// A heartbeat is told that a run started, and how it ended once the receiver has
// taken that it started.
func TestAJobsHeartbeatIsToldOfItsRuns(t *testing.T) {
	for state, want := range map[ledger.State]string{ledger.Succeeded: "", ledger.Dead: "/fail"} {
		t.Run(string(state), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := beating(t)
				w := s.pinger()
				look(t, w)
				run := s.begins("j", true)
				look(t, w)
				if got := s.pings(); !slices.Equal(got, []string{"/start"}) {
					t.Fatalf("while it runs: %q", got)
				}
				time.Sleep(time.Minute)
				s.record(run, state)
				look(t, w)
				if got := s.pings(); len(got) != 1 {
					t.Fatalf("before the receiver took the start: %q", got)
				}
				s.delivered()
				look(t, w)
				look(t, w)
				look(t, s.pinger()) // another process, or this one after a restart
				if got := s.pings(); !slices.Equal(got, []string{"/start", want}) {
					t.Errorf("told %q, want a start and %q", got, want)
				}
				rows, err := s.List(context.Background(), ledger.Filter{JobID: "heartbeat-j"})
				if err != nil || len(rows) != 2 {
					t.Fatal(rows, err)
				}
				last, _, err := s.Get(context.Background(), rows[0].ID)
				if err != nil || state == ledger.Dead && !strings.Contains(string(last.Call.Body), `"reason":"exhausted","error":"HTTP 503"`) {
					t.Errorf("the failure says %s, %v", last.Call.Body, err)
				}
				if _, rid, _ := strings.Cut(rows[0].Call.Path, "?"); rid == "" || !strings.HasSuffix(rows[1].Call.Path, rid) {
					t.Errorf("paths %q and %q of one run", rows[0].Call.Path, rows[1].Call.Path)
				}
			})
		})
	}
}

func TestACanceledRunIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := beating(t)
		w := s.pinger()
		run := s.begins("j", true)
		look(t, w)
		s.delivered()
		time.Sleep(time.Second)
		if _, err := s.Cancel(context.Background(), ledger.Action{Filter: ledger.Filter{IDs: []string{run.RunID}}, Actor: ledger.Actor{By: "me", Why: "x"}}); err != nil {
			t.Fatal(err)
		}
		look(t, w)
		if got := s.pings(); !slices.Equal(got, []string{"/start", "/log"}) {
			t.Errorf("told %q", got)
		}
	})
}

// A dead run that is redriven before its start is told has not failed.
func TestTheFailureOfARedrivenRunIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := beating(t)
		w := s.pinger()
		run := s.begins("j", true)
		s.record(run, ledger.Dead)
		look(t, w)
		time.Sleep(time.Second)
		acted, err := s.Redrive(context.Background(), ledger.Action{Filter: ledger.Filter{IDs: []string{run.RunID}}, Actor: ledger.Actor{By: "me", Why: "x"}, Force: true})
		if err != nil || len(acted.Changed) != 1 {
			t.Fatal(acted, err)
		}
		look(t, w)
		s.delivered() // the start, and the run
		look(t, w)
		if got := s.pings(); !slices.Equal(got, []string{"/start", ""}) {
			t.Errorf("told %q", got)
		}
	})
}

// A receiver that does not take the start within ten minutes is told of the end alone.
func TestAStartThatIsNotTakenDoesNotHoldBackTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := beating(t)
		w := s.pinger()
		s.record(s.begins("j", true), ledger.Succeeded)
		look(t, w)
		claim := func(token string) []ledger.Work {
			got, err := s.Claim(context.Background(), ledger.ClaimRequest{Process: "p", Token: token, LeaseFor: time.Minute, Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			return got.Work
		}
		if n := len(claim("first")); n != 1 {
			t.Fatalf("%d pings are due, want the start", n)
		}
		time.Sleep(5 * time.Minute)
		if n := len(claim("second")); n != 1 {
			t.Fatalf("%d pings are due after 5 minutes, want the start", n)
		}
		time.Sleep(6 * time.Minute)
		if n := len(claim("third")); n != 0 {
			t.Errorf("%d pings are due after 11 minutes, want none", n)
		}
		look(t, w)
		if got := s.pings(); !slices.Equal(got, []string{"/start", ""}) {
			t.Errorf("told %q", got)
		}
	})
}

func TestWhatAHeartbeatIsNotToldOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := beating(t)
		old := s.begins("j", true)
		s.record(old, ledger.Succeeded)
		time.Sleep(2 * time.Hour)                        // nothing served
		s.record(s.begins("j", false), ledger.Succeeded) // planned before the job had a heartbeat
		s.record(s.begins("quiet", false), ledger.Dead)
		s.record(s.beginsBy(ledger.ByBackfill, "j", true), ledger.Succeeded) // its scheduled time is of the past
		w := s.pinger()
		look(t, w)
		look(t, w)
		if got := s.pings(); len(got) > 0 {
			t.Errorf("told %q", got)
		}
	})
}

// The pings of an old run may be purged before the run is: an acknowledgement of it, which is a
// change, tells the receiver nothing.
func TestAnOldRunIsNotToldAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := beating(t)
		old := s.begins("j", true)
		s.record(old, ledger.Dead)
		time.Sleep(2 * time.Hour)
		w := s.pinger()
		look(t, w)
		acked, err := s.Ack(context.Background(), ledger.Action{Filter: ledger.Filter{IDs: []string{old.RunID}}, Actor: ledger.Actor{By: "me", Why: "x"}})
		if err != nil || len(acked.Changed) != 1 {
			t.Fatal(acked, err)
		}
		look(t, w)
		if got := s.pings(); len(got) > 0 {
			t.Errorf("told %q", got)
		}
	})
}

// A receiver pairs the pings of a run by a UUID, which is the same in every process and
// differs between registries with the same run ID.
func TestARunHasOneUUIDOfItsRegistry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := func(registry string) string {
			s := beatingIn(t, registry)
			s.begins("j", true)
			look(t, s.pinger())
			rows, err := s.List(context.Background(), ledger.Filter{JobID: "heartbeat-j"})
			if err != nil || len(rows) != 1 {
				t.Fatal(rows, err)
			}
			return rows[0].Call.Path
		}
		one := path("acme")
		if !regexp.MustCompile(`^/start\?rid=[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(one) {
			t.Errorf("path %s, want a UUID of version 8", one)
		}
		if again := path("acme"); again != one {
			t.Errorf("the same run is %s and %s", one, again)
		}
		if other := path("other"); other == one {
			t.Errorf("the runs of two registries are both %s", one)
		}
	})
}

// A ledger that cannot list the changes is read anew.
func TestARunWhoseChangeIsLostIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := beating(t)
		l := &faulty{Store: s.Store}
		w := l.watch(s)
		look(t, w)
		s.begins("j", true)
		l.lost = true
		look(t, w)
		if got := s.pings(); !slices.Equal(got, []string{"/start"}) {
			t.Errorf("told %q", got)
		}
	})
}

// A function is a new process at each tick.
func TestARunThatEndsDaysLaterIsToldByANewProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := beating(t)
		s.begins("j", true)
		look(t, s.pinger())
		s.delivered()
		time.Sleep(25 * time.Hour)
		s.delivered() // the run is past its send-before time
		look(t, s.pinger())
		if got := s.pings(); !slices.Equal(got, []string{"/start", "/fail"}) {
			t.Errorf("told %q", got)
		}
	})
}

// Once a run's start is delivered, its further changes ask the ledger nothing about it.
func TestADeliveredStartIsNotWrittenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := beating(t)
		l := &counter{Store: s.Store, asked: map[string]int{}}
		w := notify.NewNotifier(notify.Config{Registry: s.registry, Ledger: l, Runs: l, Logger: slog.New(slog.DiscardHandler), Now: time.Now})
		look(t, w)
		run := s.begins("j", true)
		look(t, w)
		s.delivered()
		s.fails(run)
		look(t, w)
		known := l.asked["enter"]
		for range 3 {
			time.Sleep(time.Second)
			s.fails(s.again(run.RunID))
			look(t, w)
		}
		if got := l.asked["enter"]; known == 0 || got != known {
			t.Errorf("asked %d times to enter a ping, want %d", got, known)
		}
	})
}

// A process that is killed at any of its steps loses no ping, and writes none twice.
func TestAKilledProcessLosesNoPing(t *testing.T) {
	for steps := 1; steps <= 12; steps++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprint(steps, after), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := beating(t)
					s.record(s.begins("j", true), ledger.Succeeded)
					s.record(s.begins("j", true), ledger.Dead)
					_ = s.watch(steps, after)
					for range 2 {
						if err := s.watch(-1, false); err != nil {
							t.Fatal(err)
						}
						s.delivered()
					}
					if err := s.watch(-1, false); err != nil {
						t.Fatal(err)
					}
					got := s.pings()
					slices.Sort(got)
					if !slices.Equal(got, []string{"", "/fail", "/start", "/start"}) {
						t.Errorf("told %q", got)
					}
				})
			})
		}
	}
}
