package serve

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cronce/cronce/internal/cli/backend"
)

// errLocked: another process holds the lock.
var errLocked = errors.New("locked by another process")

// lockLedger keeps a second serve off an embedded ledger that is open. The lock
// is a file beside the database that the operating system unlocks when its owner
// ends, however it ends; the file stays. Other commands do not take it.
func (a *app) lockLedger() (unlock func(), err error) {
	kind, path, err := backend.Engine(a.DatabaseURL())
	if err != nil || kind != "sqlite" {
		return func() {}, err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil { // one file, one lock
		return nil, err
	}
	f, err := openLocked(path + ".lock")
	switch {
	case errors.Is(err, errLocked):
		return nil, fmt.Errorf("the ledger %s is served already%s; an embedded ledger is for one \"cronce serve\": stop that "+
			"process first, or use PostgreSQL", path, ownerOf(path+".lock"))
	case err != nil:
		return nil, fmt.Errorf("lock the ledger %s: %w", path, err)
	}
	if err := errors.Join(f.Truncate(0), writePID(f)); err != nil {
		return nil, errors.Join(fmt.Errorf("lock the ledger %s: %w", path, err), f.Close())
	}
	return func() { f.Close() }, nil
}

func writePID(f *os.File) error {
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// ownerOf names the process that wrote the lock file, if it has done so yet.
func ownerOf(path string) string {
	text, err := os.ReadFile(path)
	pid, notANumber := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || notANumber != nil {
		return " by another process"
	}
	return fmt.Sprintf(" by the process with the pid %d", pid)
}
