package sqlite

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/cronce/cronce/ledger"
)

// errClosed: the caller closed the ledger.
var errClosed = fmt.Errorf("%w: it was closed", ledger.ErrUnavailable)

// hints say what to do, by SQLite's primary result code. Conditions that are
// temporary or that an operator can clear are unavailability; the others concern the
// file, and a retry does not help.
var hints = map[int]struct {
	unavailable bool
	hint        string
}{
	lib.SQLITE_BUSY:      {true, "another process keeps it locked"},
	lib.SQLITE_LOCKED:    {true, "another connection keeps it locked"},
	lib.SQLITE_FULL:      {true, "the disk is full: make room, nothing is lost meanwhile"},
	lib.SQLITE_IOERR:     {true, "the disk cannot be read or written: look at the machine's log"},
	lib.SQLITE_CANTOPEN:  {true, "the file cannot be opened: check its directory's permissions"},
	lib.SQLITE_READONLY:  {true, "the file or its directory cannot be written: check the permissions and the mount"},
	lib.SQLITE_PERM:      {true, "access denied: check the file's permissions"},
	lib.SQLITE_NOMEM:     {true, "out of memory"},
	lib.SQLITE_PROTOCOL:  {true, "its lock could not be had"},
	lib.SQLITE_INTERRUPT: {true, "interrupted"},
	lib.SQLITE_NOTADB:    {false, "the file is not an SQLite database: name another file"},
	lib.SQLITE_CORRUPT:   {false, "the file is damaged: stop every process that uses it and restore a backup"},
}

// translate maps a driver's error to the ledger's errors, by its code. It leaves
// errors of the ledger unchanged.
func translate(err error) error {
	if err == nil || errors.Is(err, ledger.ErrUnavailable) {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", ledger.ErrUnavailable, err)
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	h, ok := hints[primary(e)]
	switch {
	case !ok:
		return err
	case h.unavailable:
		return fmt.Errorf("%w: %s (%w)", ledger.ErrUnavailable, h.hint, err)
	default:
		return fmt.Errorf("%s (%w)", h.hint, err)
	}
}

// primary returns the result code without its extension.
func primary(e *sqlite.Error) int { return e.Code() & 0xff }

// notUnique reports whether a row has what only one row may have.
func notUnique(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code() == lib.SQLITE_CONSTRAINT_UNIQUE
}

// isBusy reports whether another process has the lock.
func isBusy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && primary(e) == lib.SQLITE_BUSY
}
