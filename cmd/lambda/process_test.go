package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/fakelambda"
	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/ledger"
)

// bothWays runs a test with a ledger and without.
func bothWays(t *testing.T, test func(t *testing.T, db string)) {
	t.Run("stateless", func(t *testing.T) { t.Parallel(); test(t, "") })
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		db := testdb.Postgres(t)
		migrated(t, db)
		test(t, db)
	})
}

func succeeded(t *testing.T, out fakelambda.Outcome, runID string) answer {
	t.Helper()
	var a answer
	if err := json.Unmarshal(out.Response, &a); err != nil || a.RunID != runID || a.State != ledger.Succeeded {
		t.Fatalf("outcome %+v (%s), want %s succeeded", out, out.Response, runID)
	}
	return a
}

func TestTheSameEventAfterSuccessIsANoOp(t *testing.T) {
	bothWays(t, func(t *testing.T, db string) {
		tg, at := newTarget(t), minute()
		fn := tg.function(registryFile(t, releaseJob), db)
		ev := fakelambda.Event{RequestID: "r-1", Payload: releaseEvent(at)}
		for range 3 {
			succeeded(t, fn.Invoke(ev), releaseRun(at))
		}
		fn.Kill() // and by another process
		succeeded(t, fn.Invoke(ev), releaseRun(at))
		tg.wantEffects(releaseRun(at))
		if db != "" && tg.callsOf(releaseRun(at)) != 1 {
			t.Errorf("%d calls although the ledger has the run", tg.callsOf(releaseRun(at)))
		}
	})
}

// The function is killed when the target has done the work and not answered;
// the platform delivers the same event again.
func TestTheSameEventAfterACrashHasOneEffect(t *testing.T) {
	bothWays(t, func(t *testing.T, db string) {
		tg, at := newTarget(t), minute()
		fn := tg.function(registryFile(t, releaseJob), db)
		tg.hold(func(n int) bool {
			if n == 1 {
				fn.Kill()
			}
			return true
		})
		ev := fakelambda.Event{RequestID: "r-1", Payload: releaseEvent(at), Timeout: time.Minute}
		if out := fn.Invoke(ev); !out.Crashed {
			t.Fatalf("outcome %+v", out)
		}
		if a := succeeded(t, fn.Invoke(ev), releaseRun(at)); !a.Replayed {
			t.Errorf("answer %+v", a)
		}
		tg.wantEffects(releaseRun(at))
	})
}

// The target hangs after its work: the function ends in time, with an error,
// and the same event succeeds later.
func TestTheSameEventAfterTheDeadlineHasOneEffect(t *testing.T) {
	bothWays(t, func(t *testing.T, db string) {
		tg, at := newTarget(t), minute()
		fn := tg.function(registryFile(t, releaseJob), db)
		free := make(chan struct{})
		tg.hold(func(n int) bool {
			if n == 1 {
				<-free
			}
			return true
		})
		ev := fakelambda.Event{RequestID: "r-1", Payload: releaseEvent(at), Timeout: 4 * time.Second}
		out := fn.Invoke(ev)
		// On a busy machine too little time may be left to ask the ledger for the run.
		if out.Error == nil || out.Error.Type != "cronce.Unfinished" && (db == "" || out.Error.Type != "cronce.LedgerUnavailable") {
			t.Errorf("outcome %+v, error %+v", out, out.Error)
		}
		ev.Timeout = time.Minute
		succeeded(t, fn.Invoke(ev), releaseRun(at))
		close(free)
		tg.wantEffects(releaseRun(at))
	})
}

// Frozen beyond its deadline, the function is killed by the platform.
func TestTheSameEventAfterTheProcessWasKilledAtItsDeadline(t *testing.T) {
	tg, at := newTarget(t), minute()
	fn := tg.function(registryFile(t, releaseJob), "")
	free := make(chan struct{})
	tg.hold(func(n int) bool {
		if n == 1 {
			fn.Freeze()
			<-free
		}
		return true
	})
	ev := fakelambda.Event{RequestID: "r-1", Payload: releaseEvent(at)}
	if out := fn.Invoke(ev); !out.TimedOut {
		t.Fatalf("outcome %+v", out)
	}
	close(free)
	succeeded(t, fn.Invoke(ev), releaseRun(at))
	tg.wantEffects(releaseRun(at))
}

func TestOneEventInTwoProcessesAtOnceHasOneEffect(t *testing.T) {
	bothWays(t, func(t *testing.T, db string) {
		tg, config, newest := newTarget(t), registryFile(t, releaseJob), minute()
		a, b := tg.function(config, db), tg.function(config, db)
		var want []string
		for i := range 8 {
			at := newest.Add(-time.Duration(i) * time.Minute)
			var both sync.WaitGroup
			for _, fn := range []*fakelambda.Environment{a, b} {
				both.Go(func() {
					out := fn.Invoke(fakelambda.Event{RequestID: fmt.Sprint("r-", i), Payload: releaseEvent(at)})
					succeeded(t, out, releaseRun(at))
				})
			}
			both.Wait()
			want = append(want, releaseRun(at))
		}
		tg.wantEffects(want...)
	})
}

// The daemon and the Lambda fire the same scheduled times on one ledger.
func TestBesideARunningDaemon(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	l, tg := migrated(t, db), newTarget(t)
	config := registryFile(t, strings.Replace(releaseJob, `"* * * * *"`, `"* * * * * *", overlap: allow`, 1))
	daemon := exec.Command(binary(t, "cronce"), "serve", "--config", config, "--db", db, "--listen", "")
	daemon.Env = append(os.Environ(), "MEMBERSHIP_URL="+tg.url, "MEMBERSHIP_TOKEN=secret")
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = daemon.Process.Kill(); _ = daemon.Wait() }()
	fn := tg.function(config, db)
	for i := range 12 {
		next := time.Now().Truncate(time.Second).Add(time.Second).UTC()
		<-time.After(time.Until(next)) // the daemon's metronome beats now, too
		out := fn.Invoke(fakelambda.Event{RequestID: fmt.Sprint("r-", i), Payload: releaseEvent(next)})
		succeeded(t, out, releaseRun(next))
	}
	_ = daemon.Process.Signal(os.Interrupt)
	_ = daemon.Wait()
	effects := tg.effects()
	runs := mustRuns(t, l, ledger.Filter{JobID: "release"})
	if len(runs) < 12 {
		t.Errorf("%d runs", len(runs))
	}
	for _, r := range runs {
		if r.State == ledger.Succeeded && effects[r.ID] != 1 || r.ID != releaseRun(r.ScheduledAt) {
			t.Errorf("%s: %s with %d effects", r.ID, r.State, effects[r.ID])
		}
	}
	for id, n := range effects {
		if n != 1 {
			t.Errorf("%d effects of %s", n, id)
		}
	}
}
