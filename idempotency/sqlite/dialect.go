package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	modernc "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
	"github.com/cronce/cronce/idempotency/keytable"
	"github.com/cronce/cronce/idempotency/purge"
	"github.com/cronce/cronce/idempotency/store"
)

// dialect is how SQLite keeps keys. Times are by this process's clock: SQLite
// has none of its own, and its functions ask the machine's as Go does.
type dialect struct {
	table           string
	common          sqlkeys.Statements
	insert, reclaim sqlkeys.Statement
	record, purge   sqlkeys.Statement
	resume          sqlkeys.Statement
	// A savepoint tells later whether the work has ended the transaction. The work does not
	// know its name, so that it cannot set it in a transaction of its own.
	mark, unmark  sqlkeys.Statement
	committedOnly atomic.Bool // the pool's connections see no more
}

func newDialect(table string) *dialect {
	t := sqlkeys.Terms{Table: sqlkeys.Quote(table, `"`), Key: "key", Now: ":now", In: ":now + %s", At: "%s",
		Since1970: "%s", ReadText: "%s", WriteText: "%s"}
	savepoint := "idempotent_" + rand.Text()
	d := &dialect{
		table: table, common: t.Common(),
		mark: t.Statement(`SAVEPOINT ` + savepoint), unmark: t.Statement(`RELEASE ` + savepoint),
		insert: t.Statement(`
INSERT INTO {{table}} (scope, principal, key, request_hash, state, response_status, owner, locked_until, created_at, expires_at)
VALUES (:scope, :principal, :key, :hash, :state, :status, :claim, {{in :lease}}, {{now}}, {{in :ttl}})`),
		reclaim: t.Statement(`DELETE FROM {{table}} WHERE {{key}} AND {{expired}}`),
		record: t.Statement(`
UPDATE {{table}} SET state = :state, response_status = :status, response_headers = :headers, response_body = :body,
       owner = :owner, expires_at = {{in :ttl}}
WHERE {{key}} AND owner = :claim AND state = 'omitted'`),
		// As after an insert, the row says that the outcome of the work is unknown.
		resume: t.Statement(`
UPDATE {{table}} SET state = 'omitted', response_status = 500, response_body = NULL, owner = :claim, locked_until = NULL, expires_at = {{in :ttl}}
WHERE {{key}} AND owner = :owner AND state = 'accepted'`),
		// The index on expires_at gives the order, and where to go on.
		purge: t.Statement(`
DELETE FROM {{table}} WHERE (scope, principal, key) IN (
  SELECT scope, principal, key FROM {{table}}
  WHERE {{expired}} AND expires_at >= :after AND (:only = '' OR scope = :only)
  ORDER BY expires_at LIMIT :limit)
RETURNING scope, expires_at`),
	}
	d.common.Often = []sqlkeys.Statement{d.insert, d.mark, d.unmark, d.record}
	return d
}

func (d *dialect) Package() string                { return name }
func (d *dialect) Statements() sqlkeys.Statements { return d.common }
func (d *dialect) Options() *sql.TxOptions        { return nil }

// Open refuses a pool on whose connections a reply could be found that may yet
// be rolled back. It asks one of them.
func (d *dialect) Open(ctx context.Context, conn *sql.Conn, _ time.Duration) (func(context.Context) error, error) {
	return nil, d.check(ctx, conn)
}

func (d *dialect) check(ctx context.Context, q sqlkeys.Querier) error {
	if d.committedOnly.Load() {
		return nil
	}
	var uncommitted bool
	err := q.QueryRowContext(ctx, `PRAGMA read_uncommitted`).Scan(&uncommitted)
	if err == nil && uncommitted {
		err = errors.New("this connection reads what is not committed: leave PRAGMA read_uncommitted off, or open the file by sqlite.Open")
	}
	d.committedOnly.Store(err == nil)
	return err
}

// Claim implements [sqlkeys.Dialect]. It writes first, and so has the write lock
// of the database, which is the key's lock, whatever BEGIN took. The row says
// what is known of work that commits by itself and of which nothing else is
// heard: that it was begun. It expires as a reply does.
func (d *dialect) Claim(
	ctx context.Context, q sqlkeys.Querier, c store.Claim, joined bool,
) (t sqlkeys.Claimed, status store.KeyStatus, err error) {
	if joined {
		if err = d.check(ctx, q); err != nil {
			return d, status, err
		}
	}
	v := sqlkeys.Of(c)
	v["state"], v["status"], v["lease"] = string(store.StateOmitted), 500, nil
	held, err := d.insertKey(ctx, q, v)
	switch {
	case err != nil:
	case held:
		status.Held, status.TooLate = true, !c.SendBefore.IsZero() && c.SendBefore.UnixMilli() <= v["now"].(int64)
		_, err = d.mark.Exec(ctx, q, nil)
	default:
		status, _, err = sqlkeys.ScanStatus(d.common.Lookup.Row(ctx, q, v))
	}
	return d, status, err
}

// Insert implements [sqlkeys.Dialect].
func (d *dialect) Insert(ctx context.Context, q sqlkeys.Querier, _ store.Claim, v sqlkeys.Values) (bool, error) {
	return d.insertKey(ctx, q, v)
}

// Resume implements [sqlkeys.Dialect].
func (d *dialect) Resume(ctx context.Context, q sqlkeys.Querier, c store.Claim) (sqlkeys.Claimed, bool, error) {
	held, err := d.resume.Changed(ctx, q, sqlkeys.Of(c))
	if err == nil && held {
		_, err = d.mark.Exec(ctx, q, nil)
	}
	return d, held, err
}

// insertKey inserts the key's row, in the place of an expired one too.
func (d *dialect) insertKey(ctx context.Context, q sqlkeys.Querier, v sqlkeys.Values) (held bool, err error) {
	held, err = d.insert.Changed(ctx, q, v)
	if inTheWay(err) {
		if expired, err := d.reclaim.Changed(ctx, q, v); err != nil || !expired {
			return false, err
		}
		held, err = d.insert.Changed(ctx, q, v)
	}
	if err == nil && !held {
		err = errors.New("SQLite has stored no row: a trigger of the table prevents that; remove it")
	}
	return held, err
}

// Record implements [sqlkeys.Claimed].
func (d *dialect) Record(ctx context.Context, q sqlkeys.Querier, c store.Claim, r store.Reply, _ bool) (time.Time, error) {
	if err := d.release(ctx, q); err != nil {
		return time.Time{}, err
	}
	v := sqlkeys.Of(c)
	if err := v.Reply(r); err != nil {
		return time.Time{}, err
	}
	stored, err := d.record.Changed(ctx, q, v)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: %s: store the reply: %w", store.ErrUnavailable, name, err)
	}
	if stored {
		return sqlkeys.Time(v["now"].(int64) + c.TTL.Milliseconds()), nil
	}
	status, _, err := sqlkeys.ScanStatus(d.common.Lookup.Row(ctx, q, v))
	return time.Time{}, errors.Join(sqlkeys.NotStored(status, c), err)
}

// release takes the work's savepoint away. SQLite says that it is busy under a
// statement that writes and was left open.
func (d *dialect) release(ctx context.Context, q sqlkeys.Querier) error {
	_, err := d.unmark.Exec(ctx, q, nil)
	switch code(err) {
	case sqlite3.SQLITE_ERROR:
		return fmt.Errorf("%w: %w", store.ErrTxEnded, err)
	case sqlite3.SQLITE_BUSY:
		return fmt.Errorf("%w: close the rows of every query before you return: %w", store.ErrTxAborted, err)
	}
	return err
}

// EndedByWork implements [sqlkeys.Claimed]. SQLite itself rolls back what it interrupts
// when MaxRun is over.
func (d *dialect) EndedByWork(ctx context.Context, q sqlkeys.Querier, over bool) (ended, undone bool) {
	return !over && errors.Is(d.release(ctx, q), store.ErrTxEnded), false
}

// Purge implements [sqlkeys.Dialect]. SQLite locks the database, not rows, so
// nothing is skipped.
func (d *dialect) Purge(ctx context.Context, tx *sql.Tx, p purge.Batch) (purge.BatchResult, error) {
	return sqlkeys.Removed(ctx, tx, d.purge, p)
}

// Create implements [sqlkeys.Dialect].
func (d *dialect) Create() ([]string, error) {
	return keytable.Create("sqlite", keytable.DefaultSchema, d.table)
}

// Check implements [sqlkeys.Dialect].
func (d *dialect) Check(ctx context.Context, conn *sql.Conn) (problems []error) {
	if err := d.check(ctx, conn); err != nil {
		problems = append(problems, fmt.Errorf("sqlite: %w", err))
	}
	var busyTimeout int
	if err := conn.QueryRowContext(ctx, `PRAGMA busy_timeout`).Scan(&busyTimeout); err != nil || busyTimeout == 0 {
		problems = append(problems, errors.Join(errors.New("sqlite: PRAGMA busy_timeout is 0, so that calls fail at once while "+
			"another process writes; set it to 5000, or open the file by sqlite.Open"), err))
	}
	var synchronous int
	if err := conn.QueryRowContext(ctx, `PRAGMA synchronous`).Scan(&synchronous); err != nil || synchronous < 2 {
		problems = append(problems, errors.Join(errors.New("sqlite: PRAGMA synchronous is below FULL, so that a crash of the "+
			"machine may forget that a call to a vendor was made; set it to FULL, or open the file by sqlite.Open"), err))
	}
	return problems
}

// Advice implements [sqlkeys.Dialect].
func (d *dialect) Advice(error) string { return "" }

// Means implements [sqlkeys.Dialect].
func (d *dialect) Means(err error) sqlkeys.Meaning {
	switch code(err) {
	case sqlite3.SQLITE_CONSTRAINT: // one that is checked at the commit
		return sqlkeys.Refused
	case sqlite3.SQLITE_ERROR:
		return sqlkeys.NoSavepoint
	}
	return sqlkeys.Unavailable
}

// inTheWay reports whether a row with the key is there.
func inTheWay(err error) bool {
	var e *modernc.Error
	return errors.As(err, &e) && e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
}

// code is SQLite's primary result code, 0 when the error is not SQLite's.
func code(err error) int {
	var e *modernc.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return sqlite3.SQLITE_OK
}
