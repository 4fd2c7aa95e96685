// Package sqlite is a ledger in one file on the machine's disk. Use it if all processes
// run on one machine. SQLite is embedded, in pure Go: nothing else has to be installed
// or run.
//
// What a method has written is durable when it returns (write-ahead log, synchronous FULL).
// Most are one transaction; Claim and PlanSchedules take several. A process that is killed at any point leaves the last committed transaction.
//
// Several processes may have one file open, such as a scheduler and a command line.
// SQLite's lock lets one of them write at a time. The others wait for up to
// [Options.BusyTimeout]. They take turns by a lock on the file PATH-queue, so that a
// process that writes without a pause does not starve the others.
//
// The store's clock is the machine's, read once in each transaction after it has the
// lock. A clock that is set back delays planning and leasing, but no scheduled time
// is admitted twice: admission compares watermarks.
//
// SQLite's shared memory does not work across a network file system. [Open] refuses the
// network file systems that it knows.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/cronce/cronce/ledger"
)

// Options configures [Open]. The zero value is right for a scheduler.
type Options struct {
	// BusyTimeout is the time for which a call waits for another process's transaction
	// before it returns ledger.ErrUnavailable; default 10 s.
	BusyTimeout time.Duration
	// SkipMigrations makes Open return ledger.ErrSchema if a migration is pending,
	// instead of applying it.
	SkipMigrations bool
	// Now is the store's clock; default time.Now.
	Now func() time.Time
}

// readers is the maximum number of concurrent reads.
const readers = 4

// Ledger implements ledger.Store in one file. It is safe for concurrent use.
type Ledger struct {
	*ledger.Ledger // the rules

	path        string
	file        os.FileInfo // the file that was opened
	now         func() time.Time
	busyTimeout time.Duration // of other processes' transactions
	writers     *sql.DB
	readers     *sql.DB
	idle        chan *session // holds one for each reader; nil for one that is not connected
	turn        chan struct{} // holds one token: whose turn it is to write
	writer      *session      // used in turn only
	queue       queue         // used in turn only

	closing sync.Once
	closed  chan struct{}
}

// Open opens the ledger in the file at path, and brings its tables up to date. It creates
// the file if needed; the directory must exist.
func Open(ctx context.Context, path string, opts Options) (*Ledger, error) {
	path, err := checkPath(path)
	if err != nil {
		return nil, err
	}
	if err := createPrivate(path); err != nil {
		return nil, fmt.Errorf("open the ledger %s: %w", path, err)
	}
	l := newLedger(path, opts)
	err = l.prepare(ctx, opts)
	if err == nil {
		l.file, err = os.Stat(path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the ledger %s: %w", path, translate(err)), l.Close())
	}
	return l, nil
}

// newLedger returns the ledger of a file, without having opened it.
func newLedger(path string, opts Options) *Ledger {
	if opts.BusyTimeout == 0 {
		opts.BusyTimeout = 10 * time.Second
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	l := &Ledger{
		path:        path,
		now:         opts.Now,
		busyTimeout: opts.BusyTimeout,
		writers:     pool(dsn(path, opts.BusyTimeout, false), 1),
		readers:     pool(dsn(path, opts.BusyTimeout, true), readers),
		idle:        make(chan *session, readers),
		turn:        make(chan struct{}, 1),
		closed:      make(chan struct{}),
		queue:       queue{path: path},
	}
	l.Ledger = ledger.New(rows{l})
	l.turn <- struct{}{}
	for range readers {
		l.idle <- nil
	}
	return l
}

// prepare makes the file a ledger of this program's version.
func (l *Ledger) prepare(ctx context.Context, opts Options) error {
	mode, err := l.journalMode(ctx)
	if err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("its disk does not support a write-ahead log (journal mode %q): put the file on a local disk", mode)
	}
	if !opts.SkipMigrations {
		if err := migrate(ctx, l.writers); err != nil {
			return err
		}
	}
	return checkSchema(ctx, l.writers)
}

// journalMode opens the first connection, which sets the mode. If two processes set
// that of a new file at once, SQLite fails one of them immediately, whatever the busy
// timeout: both hold a lock that the other needs.
func (l *Ledger) journalMode(ctx context.Context) (mode string, err error) {
	timeout, cancel := context.WithTimeout(ctx, l.busyTimeout)
	defer cancel()
	for {
		err = l.writers.QueryRowContext(ctx, `PRAGMA journal_mode`).Scan(&mode)
		if err == nil || !isBusy(err) {
			return mode, err
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-timeout.Done():
			return "", err
		}
	}
}

// Close waits for the transaction in progress and closes the file. It is safe
// to call more than once.
func (l *Ledger) Close() error {
	var err error
	l.closing.Do(func() {
		close(l.closed)
		<-l.turn
		err = errors.Join(l.closeReaders(), l.dropWriter(), l.writers.Close(), l.queue.close())
	})
	return err
}

// isClosed reports whether Close was called.
func (l *Ledger) isClosed() bool {
	select {
	case <-l.closed:
		return true
	default:
		return false
	}
}

// pool returns a pool of connections that keeps all that it makes.
func pool(dsn string, size int) *sql.DB {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		panic(err) // only an unregistered driver does this
	}
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db
}

// Ping returns ledger.ErrUnavailable if the file cannot be read.
func (l *Ledger) Ping(ctx context.Context) error {
	return rows{l}.Read(ctx, "ping", func(tx ledger.Tx) error {
		_, err := tx.Find(nil).Get()
		return err
	})
}
