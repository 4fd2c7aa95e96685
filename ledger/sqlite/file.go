package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

// checkPath refuses paths that SQLite would refuse with an unclear error, or would
// accept although they cannot hold a ledger.
func checkPath(path string) (string, error) {
	if path == "" || path == ":memory:" {
		return "", fmt.Errorf("open the ledger %q: name a file; a ledger in memory would forget what ran", path)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("open the ledger %q: %w", path, err)
	}
	dir := filepath.Dir(abs)
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("open the ledger %s: the directory %s does not exist; create it", path, dir)
	case err != nil:
		return "", fmt.Errorf("open the ledger %s: %w", path, err)
	case !info.IsDir():
		return "", fmt.Errorf("open the ledger %s: %s is not a directory", path, dir)
	}
	switch info, err := os.Stat(abs); {
	case err != nil: // created, or reported by SQLite
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("open the ledger %s: it is not a file: name a file, such as %s", path, filepath.Join(abs, "cronce.db"))
	case hardLinks(info) > 1:
		return "", fmt.Errorf("open the ledger %s: the file has %d names (hard links), and SQLite keeps a log beside each name: "+
			"processes that open it by different names corrupt it; remove the other names, or use a symbolic link", path, hardLinks(info))
	}
	if name := networkFS(dir); name != "" {
		return "", fmt.Errorf("open the ledger %s: it is on a network file system (%s), on which SQLite loses data: "+
			"put it on a local disk, or use PostgreSQL", path, name)
	}
	return abs, nil
}

// createPrivate creates the file readable for its owner only, since it contains the
// bodies of calls; SQLite would use the umask. The files beside it get the same mode.
// SQLite reports a file that cannot be created.
func createPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil
	}
	return f.Close()
}

// errReplaced: what is written goes to a file that the next process does not find.
var errReplaced = fmt.Errorf("%w: its file was removed or replaced: stop every process that uses it, put the file back, and start them again",
	ledger.ErrUnavailable)

// checkFile returns an error unless the file at the path is the one that was opened.
func (l *Ledger) checkFile() error {
	switch info, err := os.Stat(l.path); {
	case errors.Is(err, fs.ErrNotExist), err == nil && !os.SameFile(info, l.file):
		return errReplaced
	case err != nil:
		return fmt.Errorf("%w: %w", ledger.ErrUnavailable, err)
	}
	return nil
}

// networkFS names the network file system that dir is on, if it is known to
// be on one.
func networkFS(dir string) string {
	if strings.HasPrefix(filepath.VolumeName(dir), `\\`) {
		return "a network share"
	}
	return mountedFS(dir)
}

// dsn returns the driver's name for the file. The writer's transactions take the
// write lock when they begin: a transaction that reads first and writes later
// could fail at once, whatever the busy timeout.
func dsn(path string, busy time.Duration, readOnly bool) string {
	q := url.Values{}
	q.Set("_busy_timeout", strconv.FormatInt(busy.Milliseconds(), 10))
	q.Add("_pragma", "foreign_keys(on)")
	if readOnly {
		q.Add("_pragma", "query_only(on)")
	} else {
		q.Set("_txlock", "immediate")
		q.Add("_pragma", "journal_mode(wal)")
		q.Add("_pragma", "synchronous(full)")
		// 8 MiB: a backlog's indexes stay in memory, most of them. It takes
		// twice that, as the driver's allocator rounds a page and its header
		// up to a power of two.
		q.Add("_pragma", "cache_size(-8192)")
		q.Add("_pragma", "wal_autocheckpoint(8192)")
		// A reader that lasts keeps the log from being used anew, so it grows. It is cut
		// back to what it has without one: those pages, each with a header of 24 bytes.
		q.Add("_pragma", "journal_size_limit(34000000)")
	}
	return fileURL(path, q)
}

// fileURL returns a path as the URL that the driver takes, also on Windows.
func fileURL(path string, q url.Values) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/...
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}
	return u.String()
}
