package executor_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// The machine's clock is two hours ahead for a while, and then set back. Nothing is
// planned twice, the log says once that nothing runs and once that all runs again, and
// the process stays alive.
func TestALedgerAheadOfItsClockIsToldUntilTheClockReachesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ahead = 2 * time.Hour
		m := &machine{Ledger: memory.New()}
		var log bytes.Buffer
		svc := applying()
		reg := registry(t, minutely("a"), minutely("b"))
		m.sleep(ahead)
		e, stop := start(t, executor.WithClock(executor.Config{
			Registry: reg, Ledger: m, Caller: svc, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		}, m.Now))
		time.Sleep(10*time.Minute + 10*time.Second)
		if text := e.Ahead(); text != "" {
			t.Errorf("before the clock is set back: %s", text)
		}
		m.sleep(-ahead)
		for range 11 {
			time.Sleep(10 * time.Minute)
			if text := e.Ahead(); !strings.HasPrefix(text, "the ledger is ahead of the clock by ") {
				t.Fatalf("Ahead: %q", text)
			}
			list, err := m.Processes(t.Context())
			if err != nil || len(list) != 1 || !list[0].Alive {
				t.Fatalf("processes %+v, %v", list, err)
			}
		}
		calls := len(svc.runIDs())
		time.Sleep(30 * time.Minute)
		stop()
		if text := e.Ahead(); text != "" {
			t.Errorf("after the clock has reached the ledger: %s", text)
		}
		if got := len(svc.runIDs()); got < calls+2*15 {
			t.Errorf("%d calls more after the clock has reached the ledger", got-calls)
		}
		for id, n := range svc.effects {
			if n != 1 {
				t.Errorf("%s has %d effects", id, n)
			}
		}
		for text, want := range map[string]int{"the ledger is ahead of the clock;": 1, "the clock has reached the ledger": 1} {
			if n := strings.Count(log.String(), text); n != want {
				t.Errorf("%q is logged %d times:\n%s", text, n, log.String())
			}
		}
	})
}

// A process that was killed under a clock two hours ahead holds its run no longer than
// its lease, counted from the first heartbeat under the right clock.
func TestALeaseOfAKilledProcessEndsAlthoughTheClockWasSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{Ledger: memory.New()}
		reg := registry(t, minutely("a"))
		killed := declared(t, m, reg)
		m.sleep(2 * time.Hour)
		if _, err := m.Heartbeat(t.Context(), killed); err != nil {
			t.Fatal(err)
		}
		entry := entryOf(t, reg, "a", time.Now().Add(2*time.Hour))
		entry.Lease, entry.Process, entry.Token, entry.LeaseFor = true, killed, "killed", executor.DefaultLease
		if _, err := m.Enter(t.Context(), entry); err != nil {
			t.Fatal(err)
		}
		m.sleep(-2 * time.Hour)
		svc := applying()
		_, stop := start(t, executor.WithClock(executor.Config{Registry: reg, Ledger: m, Caller: svc}, m.Now))
		time.Sleep(executor.DefaultLease + 10*time.Second)
		run, _, err := m.Get(t.Context(), entry.RunID)
		list, _ := m.Processes(t.Context())
		stop()
		if err != nil || run.State != ledger.Succeeded || run.Attempt != 2 {
			t.Errorf("%+v, %v: want it taken over and succeeded", run, err)
		}
		for _, p := range list {
			if p.ID == killed && p.Alive {
				t.Error("the killed process counts as alive")
			}
		}
	})
}

// declared is the name of a process that declares a registry to the ledger.
func declared(t *testing.T, m *machine, reg interface {
	Name() string
	Version() string
}) string {
	t.Helper()
	d := ledger.Declaration{
		Process: "killed", Registry: reg.Name(), Version: "killed's", Definitions: func(func(ledger.Definition) bool) {},
	}
	if err := m.Declare(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return d.Process
}
