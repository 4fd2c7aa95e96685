package notify_test

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
	"github.com/cronce/cronce/ledger/sqlite"
	"github.com/cronce/cronce/notify"
)

// A process that is killed at any of its steps, before or after the ledger took it,
// loses no notification and doubles none.
func TestNoNotificationIsLostOrDoubledOverKills(t *testing.T) {
	for name, open := range map[string]func(*testing.T) ledger.Store{
		"memory": func(*testing.T) ledger.Store { return memory.New() },
		"sqlite": func(t *testing.T) ledger.Store {
			l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "l.db"), sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			return l
		},
	} {
		t.Run(name, func(t *testing.T) {
			for step := 1; ; step++ {
				ended := false
				for _, after := range []bool{false, true} {
					s := newScene(t, open(t))
					s.ends("j", ledger.Dead)
					ended = s.watch(step, after) == nil // it came to its end before it was to be killed
					if err := s.watch(-1, false); err != nil {
						t.Fatal(err)
					}
					s.want("ops", "opened")
					s.want("hub", "opened")
					s.deliver()
					s.ends("j", ledger.Succeeded)
					s.ahead = notify.CheckEvery
					_ = s.watch(step, after)
					if err := s.watch(-1, false); err != nil {
						t.Fatal(err)
					}
					if got := s.told("ops"); len(got) != 2 {
						t.Errorf("killed at step %d: told %q", step, got)
					}
				}
				if ended {
					return
				}
			}
		})
	}
}

// An incident that opens and closes between two looks is told as it happened.
func TestAnIncidentBetweenTwoLooksIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, memory.New())
		s.ends("j", ledger.Dead)
		time.Sleep(74 * time.Millisecond)
		s.ends("j", ledger.Succeeded)
		for _, events := range [][]string{{"opened"}, {"opened", "recovered"}, {"opened", "recovered"}} {
			time.Sleep(notify.CheckEvery)
			if err := s.watch(-1, false); err != nil {
				t.Fatal(err)
			}
			s.want("ops", events...)
			s.want("hub", events...)
			s.deliver()
		}
	})
}

// A receiver that is down while a problem ends and begins again learns of all in order:
// what is delivered late would contradict what is true by then.
func TestANotificationWaitsForTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, memory.New())
		look := func(events ...string) {
			t.Helper()
			time.Sleep(time.Minute)
			if err := s.watch(-1, false); err != nil {
				t.Fatal(err)
			}
			s.want("ops", events...)
		}
		s.ends("j", ledger.Dead)
		look("opened")
		s.ends("j", ledger.Succeeded)
		look("opened")
		look("opened")
		s.deliver()
		look("opened", "recovered")
		s.ends("j", ledger.Dead)
		look("opened", "recovered")
		s.deliver()
		look("opened", "recovered", "opened")
	})
}

// Problems, ends, acknowledgements and kills in any order: each channel is told of a
// problem, then of its end, in turn; at the end nobody waits for news.
func TestAnyLifeIsToldInTurn(t *testing.T) {
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			s := newScene(t, memory.New())
			for range 60 {
				switch r.IntN(6) {
				case 0:
					s.ends("j", ledger.Dead)
				case 1:
					s.ends("j", ledger.Succeeded)
				case 2:
					_ = s.watch(1+r.IntN(6), r.IntN(2) == 0)
				case 3:
					_ = s.watch(-1, false)
				case 4:
					if i := s.open(); i != nil && r.IntN(3) == 0 {
						if _, err := s.AckIncident(t.Context(), ledger.IncidentAction{ID: i.ID, Close: r.IntN(2) == 0, Actor: ledger.Actor{By: "ann", Why: "x"}}); err != nil {
							t.Fatal(err)
						}
					}
				}
				s.deliver()
				time.Sleep(time.Duration(r.IntN(1200)) * time.Second)
			}
			s.ends("j", ledger.Succeeded)
			time.Sleep(2 * ledger.ReopenWithin)
			_ = s.watch(-1, false)
			for _, channel := range []string{"ops", "hub"} {
				open := false
				for _, event := range s.told(channel) {
					if event == "opened" && open || event != "opened" && !open {
						t.Errorf("seed %d: channel %s: %q out of turn: %q", seed, channel, event, s.told(channel))
					}
					open = event != "recovered"
				}
				if open {
					t.Errorf("seed %d: channel %s was not told of the end: %q", seed, channel, s.told(channel))
				}
			}
		})
	}
}

// A channel that cannot deliver is told of in the other channels, not in itself, and
// however often it fails that is one problem.
func TestAFailingChannelIsAnIncidentWithoutALoop(t *testing.T) {
	s := newScene(t, memory.New())
	for range 10 {
		s.ends("notify-ops", ledger.Dead)
		s.ends("notify-hub", ledger.Dead)
		if err := s.watch(-1, false); err != nil {
			t.Fatal(err)
		}
	}
	s.want("ops", "opened")
	s.want("hub", "opened")
	list, err := s.Incidents(t.Context(), ledger.IncidentFilter{})
	if err != nil || len(list) != 2 {
		t.Errorf("incidents %+v, %v", list, err)
	}
}

// A channel that does not deliver has an incident after five minutes, of which the other
// channels are told, long before its notification is dead. The incident knows both.
func TestAChannelThatDoesNotDeliverIsAnIncidentWithinMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, memory.New())
		s.ends("j", ledger.Dead)
		look := func(after time.Duration, want int) {
			t.Helper()
			time.Sleep(after)
			if err := s.watch(-1, false); err != nil {
				t.Fatal(err)
			}
			list, err := s.Incidents(t.Context(), ledger.IncidentFilter{Open: true})
			if err != nil || len(list) != want {
				t.Errorf("incidents %+v, %v; want %d", list, err, want)
			}
		}
		look(0, 1)
		look(4*time.Minute, 1)
		look(2*time.Minute, 3)
		s.want("ops", "opened", "opened") // of j, and of the other channel
		s.want("hub", "opened", "opened")
		look(20*time.Minute, 3)
		s.want("ops", "opened", "opened")
		states, err := s.open().ChannelStates()
		if err != nil {
			t.Fatal(err)
		}
		list, err := s.Incidents(t.Context(), ledger.IncidentFilter{JobID: "j"})
		if err != nil || len(list) != 1 || len(states) != 1 {
			t.Fatalf("%+v, %+v, %v", list, states, err)
		}
		if states, err = list[0].ChannelStates(); err != nil || len(states["ops"].Runs) != 1 || len(states["hub"].Runs) != 1 {
			t.Fatalf("%+v, %v", states, err)
		}
		for channel, c := range states {
			if r, _, err := s.Get(t.Context(), c.Runs[0]); err != nil || r.JobID != "notify-"+channel {
				t.Errorf("%+v, %v", r, err)
			}
		}
		s.deliver()
		look(time.Minute, 1) // j's
	})
}
