package sqlite_test

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/sqlite"
)

// hogEnv makes the test binary a process that writes without a pause.
const hogEnv = "CRONCE_TEST_HOG"

// hog pauses and resumes the job, each an action of the audit, without end.
func hog(path string) error {
	ctx := context.Background()
	l, err := sqlite.Open(ctx, path, sqlite.Options{BusyTimeout: time.Minute})
	if err != nil {
		return err
	}
	for {
		if err := l.PauseJob(ctx, "job-000", ledger.Actor{By: "hog", Why: "test"}); err != nil {
			return err
		}
		if err := l.ResumeJob(ctx, "job-000", ledger.Actor{By: "hog", Why: "test"}); err != nil {
			return err
		}
	}
}

func startHog(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), hogEnv+"="+path)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait() // killed, so it fails
	})
	return cmd
}

// newest is the number of the last action that is in the audit.
func newest(t *testing.T, l *sqlite.Ledger) int64 {
	t.Helper()
	page, err := l.Audit(t.Context(), ledger.AuditFilter{By: "hog", Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(page) == 0 {
		return 0
	}
	return page[0].ID
}

// untilItWrites waits for the hog's next act.
func untilItWrites(t *testing.T, l *sqlite.Ledger) {
	t.Helper()
	for before := newest(t, l); newest(t, l) == before; {
		if t.Context().Err() != nil {
			t.Fatal(t.Context().Err())
		}
		time.Sleep(time.Millisecond)
	}
}

// A process that writes without a pause lets another one in between: what it
// commits while the other waits is counted, not timed.
func TestAWriterWithoutAPauseLetsOthersIn(t *testing.T) {
	path := newFile(t)
	l := open(t, path, &clock{})
	f := &fleet{Ledger: l, clock: &clock{}, overlap: ledger.OverlapAllow}
	f.begin(t, 1)
	startHog(t, path)
	untilItWrites(t, l)
	const writes = 50
	var waited int64
	for range writes {
		before := newest(t, l)
		if err := l.Deregister(t.Context(), "nobody"); err != nil {
			t.Fatal(err)
		}
		waited += newest(t, l) - before
		untilItWrites(t, l)
	}
	t.Logf("%d writes waited for %d of the other's", writes, waited)
	if waited > 10*writes {
		t.Errorf("%d writes waited for %d of the other's: it kept the lock for itself", writes, waited)
	}
}

// One that is suspended in the queue does not stop the others.
func TestASuspendedProcessInTheQueueStopsNobody(t *testing.T) {
	path := newFile(t)
	l := open(t, path, &clock{})
	f := &fleet{Ledger: l, clock: &clock{}, overlap: ledger.OverlapAllow}
	f.begin(t, 1)
	file, err := os.Open(path + "-queue")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	// As one that is suspended would hold it.
	if !sqlite.TryLock(file) {
		t.Fatal("the queue's lock is taken while nobody waits")
	}
	for range 100 {
		if err := l.Deregister(t.Context(), "nobody"); err != nil {
			t.Fatal(err)
		}
	}
}
