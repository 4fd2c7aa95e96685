//go:build unix

package cli_test

import (
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/operations"
)

// A process that is suspended in mid-call for longer than its lease loses the
// run to another. What it has to say when it is back is refused and logged; the
// ledger has one outcome, the target one effect.
func TestSuspendedBeyondItsLeaseIsRefused(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, db string) {
		svc := newService(t)
		hang := make(chan struct{})
		svc.set(hang)
		args := []string{"serve", "--config", writeFile(t, suspended("30s")), "--db", db, "--listen", ""}
		p := spawn(t, []string{"SVC_URL=" + svc.URL}, append(args, "--lease", "1s")...)
		eventually(t, "a call under way", func() bool { n, _ := svc.count(); return n > 0 })
		p.suspend(db)
		svc.set(nil) // for the other process; the suspended one's answer still hangs
		run := svc.first()
		if path, embedded := strings.CutPrefix(db, "sqlite:"); embedded {
			if err := os.Remove(path + ".lock"); err != nil { // or the second process would be refused
				t.Fatal(err)
			}
		}
		q := spawn(t, []string{"SVC_URL=" + svc.URL}, args...)
		eventually(t, "the other process to finish the run", func() bool { return one(t, db, run).State == "succeeded" })
		before := one(t, db, run)
		close(hang)
		p.signal(syscall.SIGCONT)
		eventually(t, "the late record to be refused", func() bool { return strings.Contains(p.Log.String(), "lease lost; result discarded") })
		p.Interrupt()
		q.Interrupt()
		if after := one(t, db, run); after != before || after.Attempts < 2 || !after.Replayed {
			t.Errorf("the late finisher changed the run:\n%+v\n%+v", before, after)
		}
		if !strings.Contains(p.Log.String(), run) || strings.Contains(q.Log.String(), "lease lost; result discarded") {
			t.Error("the refusal is not the suspended process's, or does not name its run")
		}
	})
}

// A retry that falls due while every process is suspended, past the run's
// send-before time, is not sent any more: the run is dead.
func TestSuspendedPastSendBeforeSendsNothing(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, db string) {
		svc := newService(t)
		svc.Config.Handler = failing(svc)
		p := spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--config", writeFile(t, suspended("6s")), "--db", db, "--listen", "")
		eventually(t, "a first call", func() bool { n, _ := svc.count(); return n > 0 })
		var run operations.Run
		eventually(t, "a run to wait for its retry while the process is suspended", func() bool {
			waiting := listRuns(t, db, "--state", "retrying")
			if len(waiting) == 0 {
				return false
			}
			p.suspend(db)
			if run = one(t, db, waiting[0].RunID); run.State == "retrying" && run.Attempts == 1 {
				return true
			}
			p.signal(syscall.SIGCONT) // it was on: the next run will do
			return false
		})
		until, err := time.Parse(time.RFC3339, run.SendBefore)
		if err != nil {
			t.Fatal(err)
		}
		until = until.Add(time.Second) // it is shown without the fraction
		eventually(t, "its send-before time to pass", func() bool { return time.Now().After(until) })
		p.signal(syscall.SIGCONT)
		eventually(t, "the run to be dead", func() bool { return one(t, db, run.RunID).State == "dead" })
		p.Interrupt()
		if r, calls := one(t, db, run.RunID), svc.of(run.RunID); r.Reason != "key_expired" || calls != r.Attempts || calls > 1 {
			t.Errorf("%+v; %d calls, of which one before the suspension", r, calls)
		}
	})
}

// suspend stops the process where it is, but not while it writes to a file that
// others are to write to meanwhile.
func (p *process) suspend(db string) {
	p.t.Helper()
	eventually(p.t, "the ledger to be free", func() bool {
		p.signal(syscall.SIGSTOP)
		if free(p.t, db) {
			return true
		}
		p.signal(syscall.SIGCONT)
		return false
	})
}

// free reports whether nobody holds the lock of an embedded ledger.
func free(t *testing.T, db string) bool {
	t.Helper()
	path, embedded := strings.CutPrefix(db, "sqlite:")
	if !embedded {
		return true
	}
	file, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	_, err = file.ExecContext(t.Context(), "BEGIN IMMEDIATE; ROLLBACK")
	return err == nil
}

// suspended is a registry whose calls may be retried for so long.
func suspended(horizon string) string {
	return strings.Replace(everySecond, "overlap: allow", `overlap: skip, timeout: 10s, retry: { backoff: [5s, 5s], jitter: 0, horizon: `+horizon+` }`, 1)
}

// failing answers every call with 500.
func failing(s *service) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		s.mu.Lock()
		s.calls = append(s.calls, r.Header.Get("Idempotency-Key")+" "+r.Header.Get("Cronce-Attempt"))
		s.mu.Unlock()
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, "{}")
	})
}

func one(t *testing.T, db, run string) operations.Run {
	t.Helper()
	for _, r := range listRuns(t, db) {
		if r.RunID == run {
			return r
		}
	}
	t.Fatalf("no run %s", run)
	return operations.Run{}
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.Cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}
