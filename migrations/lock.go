package migrations

import (
	"context"
	"database/sql"
	"errors"
	"hash/fnv"

	"github.com/pressly/goose/v3/lock"
)

// locker makes concurrent calls of Up wait for one another; nil on SQLite,
// which has no lock that outlives a transaction.
func (t Target) locker(db *sql.DB) lock.SessionLocker {
	h := fnv.New64a()
	h.Write([]byte("cronce migrations " + t.versions()))
	switch t.Engine {
	case Postgres:
		return &transactionLock{db: db, id: int64(h.Sum64())}
	case MySQL:
		// The name is the server's, not the database's, and has at most 64
		// characters. MySQL 9.6 and later have no MD5.
		return sessionLock{`SELECT GET_LOCK(CONCAT('cronce ', ?, ' ', LEFT(SHA2(DATABASE(), 256), 32)), 300) = 1`,
			`SELECT RELEASE_LOCK(CONCAT('cronce ', ?, ' ', LEFT(SHA2(DATABASE(), 256), 32)))`, int64(h.Sum64() >> 1)}
	default:
		return nil
	}
}

// transactionLock is held by a transaction beside the migrations, since a pooler
// may give each of them another session.
type transactionLock struct {
	db *sql.DB
	id int64
	tx *sql.Tx
}

func (l *transactionLock) SessionLock(ctx context.Context, _ *sql.Conn) (err error) {
	if l.tx, err = l.db.BeginTx(context.WithoutCancel(ctx), nil); err != nil {
		return err
	}
	_, err = l.tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1), set_config('idle_in_transaction_session_timeout', '0', true)`, l.id)
	if err != nil {
		return errors.Join(err, l.tx.Rollback())
	}
	return nil
}

func (l *transactionLock) SessionUnlock(context.Context, *sql.Conn) error { return l.tx.Rollback() }

// sessionLock waits in the database, so that the next in line goes on at once.
type sessionLock struct {
	lock, unlock string
	id           int64
}

func (l sessionLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	var got any // 1, 0 (waited too long) or NULL
	if err := conn.QueryRowContext(ctx, l.lock, l.id).Scan(&got); err != nil {
		return err
	}
	if n, ok := got.(int64); ok && n != 1 {
		return errors.New("another process has been migrating for five minutes: look what it waits for, then start again")
	}
	return nil
}

func (l sessionLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	var ignored any
	return conn.QueryRowContext(ctx, l.unlock, l.id).Scan(&ignored)
}
