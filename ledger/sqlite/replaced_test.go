package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/cronce/cronce/ledger"
)

// A process whose file is gone would go on in a ledger that ends with it.
func TestALedgerWhoseFileIsGoneIsUnavailable(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a file that is open cannot be removed there")
	}
	path := newFile(t)
	l := open(t, path, &clock{})
	works := func() error {
		return errors.Join(l.Ping(t.Context()), l.BindRegistry(t.Context(), "acme"))
	}
	if err := works(); err != nil {
		t.Fatal(err)
	}
	aside := filepath.Join(t.TempDir(), "aside.db")
	rename := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	unavailable := func(what string) {
		t.Helper()
		read, write := l.Ping(t.Context()), l.BindRegistry(t.Context(), "acme")
		if !errors.Is(read, ledger.ErrUnavailable) || !errors.Is(write, ledger.ErrUnavailable) {
			t.Errorf("%s: a read returned %v, a write %v", what, read, write)
		}
	}
	rename(path, aside)
	unavailable("removed")
	rename(newFile(t), path)
	unavailable("replaced")
	rename(aside, path)
	if err := works(); err != nil {
		t.Errorf("put back: %v", err)
	}
}
