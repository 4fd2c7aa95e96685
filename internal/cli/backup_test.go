package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/operations"
)

const backedUp = `version: 1
name: test
jobs:
  - { id: tick, schedule: "* * * * * *", targetUrlEnv: SVC_URL, path: /tick, overlap: allow, catchUp: all, catchUpWindow: 1h }
  - { id: tack, schedule: "* * * * * *", targetUrlEnv: SVC_URL, path: /tack, overlap: allow, catchUp: all, catchUpWindow: 1h }
`

// A backup that is taken while runs are planned, called and recorded, and operators act,
// is a whole ledger: it has all that was recorded before it, and serve goes on from it, under
// the same run IDs.
func TestABackupUnderLoadIsRestored(t *testing.T) {
	t.Parallel()
	svc, dir := newService(t), t.TempDir()
	config, db := writeFile(t, backedUp), "sqlite:"+filepath.Join(dir, "ledger.db")
	p := spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--config", config, "--db", db, "--listen", "")
	eventually(t, "some runs", func() bool { _, n := svc.count(); return n > 6 })
	writes := make(chan struct{})
	go func() {
		defer close(writes)
		for range 20 {
			invoke(t, map[string]string{"USER": "ann"}, "jobs", "pause", "tack", "--why", "load", "--db", db)
			invoke(t, map[string]string{"USER": "ann"}, "jobs", "resume", "tack", "--why", "load", "--db", db)
		}
	}()
	var before []operations.Run
	copied := ""
	for _, name := range []string{"first.db", "second.db", "third.db"} {
		before, copied = listRuns(t, db, "--state", "succeeded"), filepath.Join(dir, name)
		if code, out, errs := invoke(t, nil, "backup", copied, "--db", db); code != exitDone || !strings.Contains(out, copied) {
			t.Fatalf("exit %d: %s%s", code, out, errs)
		}
	}
	<-writes
	later := svc.distinct()
	eventually(t, "runs after the backup", func() bool { return svc.distinct() > later+4 })
	p.Kill()

	restored := "sqlite:" + copied
	had := map[string]bool{}
	for _, r := range listRuns(t, restored, "--state", "succeeded") {
		had[r.RunID] = true
	}
	for _, r := range before {
		if !had[r.RunID] {
			t.Errorf("%s succeeded before the backup, which does not have it", r.RunID)
		}
	}
	effects := svc.distinct()
	q := spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--config", config, "--db", restored, "--listen", "", "--lease", "2s")
	eventually(t, "runs after the restore", func() bool { return svc.distinct() > effects+4 })
	eventually(t, "no unfinished run of the time before", func() bool {
		for _, r := range listRuns(t, restored, "--job", "tick", "--until", operations.TimeText(time.Now().Add(-3*time.Second))) {
			if r.State != "succeeded" {
				return false
			}
		}
		return true
	})
	q.Interrupt()
	times := map[string]bool{}
	var first, last time.Time
	for _, r := range listRuns(t, restored, "--job", "tick", "--state", "succeeded") {
		at, err := time.Parse(time.RFC3339, r.ScheduledAt)
		if err != nil || times[r.ScheduledAt] {
			t.Fatalf("%s twice, or %v", r.ScheduledAt, err)
		}
		times[r.ScheduledAt] = true
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	if want := int(last.Sub(first)/time.Second) + 1; len(times) != want {
		t.Errorf("%d scheduled times have a run, want %d: each second from %s to %s", len(times), want, first, last)
	}
}

// distinct is how many runs were called.
func (s *service) distinct() int { _, n := s.count(); return n }

func TestWhatCannotBeBackedUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	there := filepath.Join(dir, "there.db")
	if err := os.WriteFile(there, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	db := "sqlite:" + filepath.Join(dir, "ledger.db")
	if code, _, errs := invoke(t, nil, "migrate", "up", "--db", db); code != exitDone {
		t.Fatal(errs)
	}
	for want, args := range map[string][]string{
		"the file exists": {there, "--db", db}, "does not exist yet": {filepath.Join(dir, "copy.db"), "--db", "sqlite:" + filepath.Join(dir, "none.db")},
		"use pg_dump": {filepath.Join(dir, "copy.db"), "--db", "postgres://127.0.0.1:1/x"}, "accepts 1 arg": {"--db", db}, "leave out --server": {filepath.Join(dir, "copy.db"), "--server", "http://127.0.0.1:1"},
	} {
		if code, out, errs := invoke(t, nil, append([]string{"backup"}, args...)...); code == exitDone || !strings.Contains(errs, want) {
			t.Errorf("%q: exit %d: %s%s, want %q", args, code, out, errs, want)
		}
	}
}
