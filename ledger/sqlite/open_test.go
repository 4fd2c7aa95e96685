package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/sqlite"
)

func TestOpenSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	linked := filepath.Join(dir, "linked.db")
	if err := os.Link(newFile(t), linked); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, path, want string }{
		{"no name", "", "name a file"},
		{"memory", ":memory:", "a ledger in memory would forget"},
		{"a directory", dir, "name a file, such as " + filepath.Join(dir, "cronce.db")},
		{"no such directory", filepath.Join(dir, "no", "ledger.db"), "create it"},
		{"a file for a directory", filepath.Join(text, "ledger.db"), "not a directory"},
		{"a file of two names", linked, "2 names (hard links)"},
		{"no database", text, "not an SQLite database: name another file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := sqlite.Open(t.Context(), c.path, sqlite.Options{})
			if err == nil {
				l.Close()
				t.Fatal("opened")
			}
			if !strings.Contains(err.Error(), c.want) || errors.Is(err, ledger.ErrUnavailable) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestAFileThatCannotBeCreatedIsUnavailable(t *testing.T) {
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("there is no /proc, a directory that nobody can write")
	}
	_, err := sqlite.Open(t.Context(), "/proc/ledger.db", sqlite.Options{})
	if !errors.Is(err, ledger.ErrUnavailable) || !strings.Contains(err.Error(), "check its directory's permissions") {
		t.Errorf("%v", err)
	}
}

func TestNamesThatLookLikeParametersAreNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a?b=c&d#e%41 f.db")
	open(t, path, &clock{})
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func TestManyProcessesMayStartOnOneNewFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			l, err := sqlite.Open(t.Context(), path, sqlite.Options{BusyTimeout: time.Minute})
			if err != nil {
				t.Error(err)
				return
			}
			if err := errors.Join(l.Ping(t.Context()), l.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestPendingMigrationsAreRefusedWhenTheSchemaIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	if _, err := sqlite.Open(t.Context(), path, sqlite.Options{SkipMigrations: true}); !errors.Is(err, ledger.ErrSchema) {
		t.Errorf("%v, want ErrSchema", err)
	}
	open(t, path, &clock{})
	l, err := sqlite.Open(t.Context(), path, sqlite.Options{SkipMigrations: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestAFileOfANewerProgramIsOpened(t *testing.T) {
	path := newFile(t)
	l := open(t, path, &clock{})
	if err := l.Exec(t.Context(), `INSERT INTO ledger_versions (version_id, is_applied) VALUES (99999, 1)`); err != nil {
		t.Fatal(err)
	}
	for _, keep := range []bool{false, true} {
		l, err := sqlite.Open(t.Context(), path, sqlite.Options{SkipMigrations: keep})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestTheFileIsForItsOwnerOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	open(t, path, &clock{})
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %o", name, mode)
		}
	}
}

// What SQLite refuses is told by its code; the ledger goes on once it is over.
func TestTroubleIsUnavailabilityAndPasses(t *testing.T) {
	for _, c := range []struct{ name, break_, mend, want string }{
		{"disk full", `PRAGMA max_page_count = 1`, `PRAGMA max_page_count = 4294967294`, "the disk is full: make room"},
		{"read only", `PRAGMA query_only = on`, `PRAGMA query_only = off`, "cannot be written"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFleet(t, ledger.OverlapAllow)
			if err := f.Exec(t.Context(), c.break_); err != nil {
				t.Fatal(err)
			}
			before := append([]ledger.JobAssignment(nil), f.stands...)
			f.clock.shift.Add(int64(time.Hour))
			a := ledger.Admission{Process: "p", Token: "t", LeaseFor: time.Minute}
			for i := range f.stands {
				a.Plans = append(a.Plans, f.plan(&f.stands[i], ledger.OverlapAllow, true))
			}
			_, err := f.Admit(t.Context(), a)
			if !errors.Is(err, ledger.ErrUnavailable) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want %q", err, c.want)
			}
			if runs, err := f.List(t.Context(), ledger.Filter{}); err != nil || len(runs) > 0 {
				t.Errorf("%d runs of a refused admission, %v", len(runs), err)
			}
			if err := f.Exec(t.Context(), c.mend); err != nil {
				t.Fatal(err)
			}
			if got, err := f.Admit(t.Context(), a); err != nil || len(got.Leased) != len(before) {
				t.Errorf("after it: leased %d, %v", len(got.Leased), err)
			}
		})
	}
}

// locked has another connection hold the file's write lock.
func locked(t *testing.T, path string) (unlock func()) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(context.Background(), `BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	return sync.OnceFunc(func() {
		if err := errors.Join(conn.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
}

func TestAnotherProcessesLockIsWaitedFor(t *testing.T) {
	path := newFile(t)
	l := open(t, path, &clock{})
	unlock := locked(t, path)
	defer unlock()
	done := make(chan error)
	go func() { done <- l.Deregister(t.Context(), "p") }()
	if _, err := l.List(t.Context(), ledger.Filter{}); err != nil {
		t.Errorf("a listing has to wait for nobody: %v", err)
	}
	unlock()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestALockThatIsNotGivenBackIsUnavailability(t *testing.T) {
	path := newFile(t)
	l, err := sqlite.Open(t.Context(), path, sqlite.Options{BusyTimeout: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	unlock := locked(t, path)
	defer unlock()
	err = l.Deregister(t.Context(), "p")
	if !errors.Is(err, ledger.ErrUnavailable) || !strings.Contains(err.Error(), "another process keeps it locked") {
		t.Error(err)
	}
	unlock()
	if err := l.Deregister(t.Context(), "p"); err != nil {
		t.Errorf("after it was given back: %v", err)
	}
}

func TestWaitingForALockEndsWithTheContext(t *testing.T) {
	path := newFile(t)
	l := open(t, path, &clock{})
	unlock := locked(t, path)
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	err := l.Deregister(ctx, "p")
	if !errors.Is(err, ledger.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	unlock()
	if err := l.Deregister(t.Context(), "p"); err != nil {
		t.Errorf("after it: %v", err)
	}
}

func TestAClosedLedgerIsUnavailable(t *testing.T) {
	l := open(t, newFile(t), &clock{})
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Fatal(err)
	}
	if err := l.Ping(t.Context()); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("read: %v", err)
	}
	if err := l.Deregister(t.Context(), "p"); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("write: %v", err)
	}
}

// A clock that is set back plans nothing, and nothing twice: the plan waits
// until the clock is there again.
func TestAClockThatJumpsBackAdmitsNothingTwice(t *testing.T) {
	f := newFleet(t, ledger.OverlapAllow)
	old := f.stands[0]
	f.admit(t, true)
	f.clock.shift.Add(-int64(time.Hour))
	ahead := f.stands[0]
	again := f.plan(&old, ledger.OverlapAllow, true)
	next := f.plan(&ahead, ledger.OverlapAllow, true)
	for name, p := range map[string]ledger.Plan{"the same plan again": again, "a plan ahead of the clock": next} {
		got, err := f.Admit(t.Context(), ledger.Admission{Plans: []ledger.Plan{p}, Process: "p", Token: "t", LeaseFor: time.Minute})
		if err != nil || len(got.Stale) != 1 || len(got.Leased) > 0 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	f.clock.shift.Add(int64(2 * time.Hour))
	got, err := f.Admit(t.Context(), ledger.Admission{Plans: []ledger.Plan{next}, Process: "p", Token: "t", LeaseFor: time.Minute})
	if err != nil || len(got.Leased) != 1 {
		t.Errorf("when the clock is there: %+v, %v", got, err)
	}
}
