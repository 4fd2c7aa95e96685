package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
)

// ErrBackupExists is Backup's refusal to replace a file.
var ErrBackupExists = errors.New("the file exists; name one that does not")

// Backup copies the ledger in the file at path to a new file, readable for its owner only.
// The copy is one state of the ledger. Processes that use the ledger go on meanwhile; the
// tables may be those of another release. When Backup returns nil, the copy is whole,
// checked and on the disk. It may be opened as a ledger.
func Backup(ctx context.Context, path, to string) (err error) {
	if path, err = checkPath(path); err != nil {
		return err
	}
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("back up to %s: %w", to, ErrBackupExists)
	}
	part := to + ".part" // what a process that is killed leaves behind
	if err := createNew(part); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("back up to %s: %w; remove that file if no other backup is in progress", to, err)
	} else if err != nil {
		return fmt.Errorf("back up to %s: %w", to, err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("back up to %s: %w", to, translate(err))
			_ = os.Remove(part)
		}
	}()
	if err := copyInto(ctx, path, part); err != nil {
		return err
	}
	if err := checkCopy(ctx, part); err != nil {
		return err
	}
	return publish(part, to)
}

// createNew creates an empty file, which SQLite fills.
func createNew(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// copyInto reads one snapshot, which holds up nobody.
func copyInto(ctx context.Context, path, to string) error {
	db := pool(fileURL(path, url.Values{"_busy_timeout": {"10000"}}), 1) // it changes nothing of the file, as dsn would
	defer db.Close()
	_, err := db.ExecContext(ctx, `VACUUM INTO ?`, to)
	return err
}

// checkCopy returns an error if SQLite finds the copy damaged.
func checkCopy(ctx context.Context, path string) error {
	db := pool(fileURL(path, nil), 1)
	defer db.Close()
	var found string
	if err := db.QueryRowContext(ctx, `PRAGMA integrity_check(1)`).Scan(&found); err != nil {
		return err
	}
	if found != "ok" {
		return fmt.Errorf("the copy is damaged, and so may be the ledger: %s", found)
	}
	return nil
}

// publish makes the copy durable, which VACUUM INTO does not, and gives it its name.
func publish(part, to string) error {
	if err := syncFile(part); err != nil {
		return err
	}
	if err := os.Rename(part, to); err != nil {
		return err
	}
	_ = syncFile(filepath.Dir(to)) // not every system can
	return nil
}

// syncFile has the system write a file, or a directory, to the disk.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
