package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
	"github.com/cronce/cronce/idempotency/keytable"
	"github.com/cronce/cronce/idempotency/store"
)

// dialect is how MySQL keeps keys.
type dialect struct {
	table  string
	terms  sqlkeys.Terms
	common sqlkeys.Statements

	insert, reclaim, lookupLocked, record, recordJoined, resume, doomed sqlkeys.Statement

	pool atomic.Pointer[pool]
}

func newDialect(table string) *dialect {
	// The database's clock goes by UTC, since a session's local time is ambiguous
	// for an hour each autumn. It is the same throughout a statement.
	const now = "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000)"
	t := sqlkeys.Terms{Table: sqlkeys.Quote(table, "`"), Key: "`key`", Now: now, In: now + " + %s", At: "%s",
		// The headers as they were written, whatever the connection's character set.
		Since1970: "%s", ReadText: "CAST(%s AS BINARY)", WriteText: "CONVERT(CAST(%s AS BINARY) USING utf8mb4)"}
	record := func(expires string) sqlkeys.Statement {
		return t.Statement(`
UPDATE {{table}} SET state = :state, response_status = :status, response_headers = {{write :headers}}, response_body = :body,
       owner = :owner, expires_at = ` + expires + `
WHERE {{key}} AND owner = :claim AND state = 'omitted' /*M!100600 AND @@in_transaction = 1 */`)
	}
	return &dialect{
		table: table, terms: t, common: t.Common(),
		// MySQL takes what is for MariaDB alone for a comment.
		insert: t.Statement(`
/*M!100600 SET STATEMENT innodb_lock_wait_timeout = 1 FOR */
INSERT INTO {{table}} (scope, principal, {{keycolumn}}, request_hash, owner, state, response_status,
                       locked_until, created_at, expires_at)
VALUES (:scope, :principal, :key, :hash, :claim, :state, :status, {{in :lease}}, {{now}}, {{in :ttl}})`),
		reclaim: t.Statement(`DELETE FROM {{table}} WHERE {{key}} AND {{expired}}`),
		// A locking read sees what is committed now, whatever the isolation.
		lookupLocked: t.LookupFor(` LOCK IN SHARE MODE`),
		// The server answers the time of expiry as the id that a row was given. In
		// a transaction of the caller's that would hide the id of the caller's row.
		record:       record(`LAST_INSERT_ID({{in :ttl}})`),
		recordJoined: record(`{{in :ttl}}`),
		// As after an insert, the row says that the outcome of the work is unknown.
		resume: t.Statement(`
UPDATE {{table}} SET state = 'omitted', response_status = 500, response_body = NULL, owner = :claim, locked_until = NULL,
	expires_at = {{in :ttl}}
WHERE {{key}} AND owner = :owner AND state = 'accepted'`),
		// The index on expires_at gives the order, and where to go on.
		doomed: t.Statement(`
SELECT scope, principal, {{keycolumn}}, expires_at FROM {{table}}
WHERE {{expired}} AND expires_at >= :after AND (:only = '' OR scope = :only)
ORDER BY expires_at LIMIT :limit FOR UPDATE SKIP LOCKED`),
	}
}

func (d *dialect) Package() string                { return name }
func (d *dialect) Statements() sqlkeys.Statements { return d.common }
func (d *dialect) Options() *sql.TxOptions        { return nil } // the session's own isolation

// Claim implements [sqlkeys.Dialect]. The row says that the outcome of the work is unknown:
// work that commits the transaction itself commits this row with it. It expires as a reply
// does.
func (d *dialect) Claim(ctx context.Context, q sqlkeys.Querier, c store.Claim, joined bool) (sqlkeys.Claimed, store.KeyStatus, error) {
	if _, err := d.sessions(ctx, q); err != nil {
		return nil, store.KeyStatus{}, err
	}
	v := sqlkeys.Of(c)
	v["state"], v["status"], v["lease"] = string(store.StateOmitted), 500, nil
	status, err := d.insertKey(ctx, q, v)
	if code(err) == lockWaitTimeout && !(joined && d.rollsBack(lockWaitTimeout)) {
		err = nil // in flight
	}
	if err == nil && status.Held && !c.SendBefore.IsZero() {
		var free store.KeyStatus
		free, _, err = sqlkeys.ScanStatus(d.common.Lookup.Row(ctx, q, v))
		status.TooLate = free.TooLate
	}
	return d, status, err
}

// Insert implements [sqlkeys.Dialect].
func (d *dialect) Insert(ctx context.Context, q sqlkeys.Querier, _ store.Claim, v sqlkeys.Values) (bool, error) {
	status, err := d.insertKey(ctx, q, v)
	if code(err) == lockWaitTimeout {
		err = nil // in flight
	}
	return status.Held, err
}

// Resume implements [sqlkeys.Dialect].
func (d *dialect) Resume(ctx context.Context, q sqlkeys.Querier, c store.Claim) (sqlkeys.Claimed, bool, error) {
	held, err := d.resume.Changed(ctx, q, sqlkeys.Of(c))
	return d, held, err
}

// insertKey inserts the key's row, in the place of an expired one too, or looks at
// the one that is there. It fails with [lockWaitTimeout] if another transaction holds
// the key.
func (d *dialect) insertKey(ctx context.Context, q sqlkeys.Querier, v sqlkeys.Values) (store.KeyStatus, error) {
	for range 2 {
		if _, err := d.insert.Exec(ctx, q, v); code(err) != duplicateKey {
			return store.KeyStatus{Held: err == nil}, err
		}
		status, expired, err := sqlkeys.ScanStatus(d.lookupLocked.Row(ctx, q, v))
		if err != nil || !expired {
			return status, err
		}
		if _, err := d.reclaim.Exec(ctx, q, v); err != nil {
			return store.KeyStatus{}, err
		}
	}
	return store.KeyStatus{}, nil // somebody placed theirs in between: in flight
}

// Record implements [sqlkeys.Claimed]. The row is there unless the work has
// rolled it back. That the work has committed it MariaDB tells with the same
// statement.
func (d *dialect) Record(ctx context.Context, q sqlkeys.Querier, c store.Claim, r store.Reply, joined bool) (expires time.Time, err error) {
	v := sqlkeys.Of(c)
	if err := v.Reply(r); err != nil {
		return expires, err
	}
	if in, err := d.stillIn(ctx, q); err != nil {
		return expires, rowsOpen(err)
	} else if !in {
		return expires, store.ErrTxEnded
	}
	record := d.record
	if joined {
		record = d.recordJoined
	}
	result, err := record.Exec(ctx, q, v)
	if err != nil {
		return expires, rowsOpen(err)
	}
	stored, err := result.RowsAffected()
	if err != nil {
		return expires, err
	}
	if stored > 0 && !joined {
		until, err := result.LastInsertId()
		return sqlkeys.Time(until), err
	}
	status, _, err := sqlkeys.ScanStatus(d.common.Lookup.Row(ctx, q, v))
	switch {
	case err != nil:
		return expires, err
	case stored > 0 && status.Record != nil:
		return status.Record.ExpiresAt, nil
	case stored == 0:
		return expires, sqlkeys.NotStored(status, c)
	}
	return expires, nil
}

// rowsOpen adds what to do to an error of the first statement after the work.
func rowsOpen(err error) error {
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrBusyBuffer) {
		return fmt.Errorf("the connection is lost, or rows are open on it (close the rows of every query before the work returns): %w", err)
	}
	return err
}

// stillIn asks a server that has no word for it in [dialect.record].
func (d *dialect) stillIn(ctx context.Context, q sqlkeys.Querier) (bool, error) {
	if d.pool.Load().mariaDB {
		return true, nil
	}
	return savepoint(ctx, q)
}

// savepoint reports whether a savepoint can be set: outside of a transaction
// MySQL takes the statement and sets none.
func savepoint(ctx context.Context, q sqlkeys.Querier) (bool, error) {
	if _, err := q.ExecContext(ctx, `SAVEPOINT idempotent_check`); err != nil {
		return false, err
	}
	_, err := q.ExecContext(ctx, `RELEASE SAVEPOINT idempotent_check`)
	if code(err) == noSuchSavepoint {
		return false, nil
	}
	return err == nil, err
}

// EndedByWork implements [sqlkeys.Claimed]. After a ROLLBACK of the work's each
// statement has been committed by itself. So has each after an error with which the
// server rolls back, unless that was the last thing to happen.
func (d *dialect) EndedByWork(ctx context.Context, q sqlkeys.Querier, _ bool) (ended, undone bool) {
	if d.pool.Load().mariaDB {
		var in bool
		if err := q.QueryRowContext(ctx, `SELECT @@in_transaction LIMIT 1`).Scan(&in); err != nil || in {
			return false, false
		}
		undone = d.endedByServer(ctx, q)
		return !undone, undone
	}
	// In this order: the error of the missing savepoint takes the place of the work's.
	if d.endedByServer(ctx, q) {
		return false, true
	}
	in, err := savepoint(ctx, q)
	return err == nil && !in, false
}

// endedByServer reports whether the last statement failed in a way that ends
// the transaction.
func (d *dialect) endedByServer(ctx context.Context, q sqlkeys.Querier) bool {
	var level, message string
	var number uint16
	err := q.QueryRowContext(ctx, `SHOW ERRORS`).Scan(&level, &number, &message)
	return err == nil && d.rollsBack(number)
}

// Create implements [sqlkeys.Dialect].
func (d *dialect) Create() ([]string, error) {
	return keytable.Create("mysql", keytable.DefaultSchema, d.table)
}
