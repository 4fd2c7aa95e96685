package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/pressly/goose/v3/lock"
)

// locker makes concurrent calls of Up wait for one another; nil on SQLite,
// which has no lock that outlives a transaction.
func (t Target) locker(db *sql.DB) lock.SessionLocker {
	if t.Engine != Postgres {
		return nil
	}
	h := fnv.New64a()
	h.Write([]byte("cronce migrations " + t.versions()))
	return &transactionLock{db: db, id: int64(h.Sum64())}
}

// transactionLock is held by a transaction beside the migrations, since a pooler
// may give each of them another session. CREATE INDEX CONCURRENTLY in a migration waits
// for the end of each transaction that has a snapshot. So a process polls for the lock
// instead of waiting in the server, and holds it in a transaction without a snapshot, which
// one that a database makes "repeatable read" by default would have.
type transactionLock struct {
	db *sql.DB
	id int64
	tx *sql.Tx
}

func (l *transactionLock) SessionLock(ctx context.Context, _ *sql.Conn) error {
	for {
		if got, err := l.try(ctx); got || err != nil {
			return err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// try begins the transaction, and ends it unless it has the lock. Without parameters
// the statement is a simple query, whose snapshot ends with it.
func (l *transactionLock) try(ctx context.Context) (got bool, err error) {
	if l.tx, err = l.db.BeginTx(context.WithoutCancel(ctx), &sql.TxOptions{Isolation: sql.LevelReadCommitted}); err != nil {
		return false, err
	}
	var rows int64
	done, err := l.tx.ExecContext(ctx, fmt.Sprintf(
		`SELECT set_config('idle_in_transaction_session_timeout', '0', true) WHERE pg_try_advisory_xact_lock(%d)`, l.id))
	if err == nil {
		rows, err = done.RowsAffected()
	}
	if err == nil && rows == 1 {
		return true, nil
	}
	return false, errors.Join(err, l.tx.Rollback())
}

func (l *transactionLock) SessionUnlock(context.Context, *sql.Conn) error { return l.tx.Rollback() }
