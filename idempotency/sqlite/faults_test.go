package sqlite_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"testing"
	"time"

	modernc "modernc.org/sqlite"

	"github.com/cronce/cronce/idempotency/idempotencytest"
	"github.com/cronce/cronce/idempotency/sqlite"
)

// openFaulty opens the file as open does, with a fault among the statements and
// a tenth of the timeout with a process that is stopped.
func openFaulty(t *testing.T, path string, f *idempotencytest.Fault) *sql.DB {
	t.Helper()
	return openWaiting(t, path, f, 500*time.Millisecond)
}

// openWaiting opens the file as open does, but for the timeout with others.
func openWaiting(t *testing.T, path string, f *idempotencytest.Fault, timeout time.Duration) *sql.DB {
	t.Helper()
	plain, err := modernc.NewConnector(sqlite.Source(path))
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(faulty{plain, f, timeout})
	t.Cleanup(func() { db.Close() })
	return db
}

type faulty struct {
	driver.Connector
	fault   *idempotencytest.Fault
	timeout time.Duration
}

func (c faulty) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	inner := opened.(driverConn)
	_, err = inner.ExecContext(ctx, fmt.Sprint(`PRAGMA busy_timeout = `, c.timeout.Milliseconds()), nil)
	return &conn{driverConn: inner, fault: c.fault}, err
}

type driverConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

// breakIt is a statement that breaks the connection.
const breakIt = `break the connection`

// conn is a connection with a fault, on which nothing is said once it is broken.
type conn struct {
	driverConn
	fault  *idempotencytest.Fault
	broken bool
}

func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.broken = c.broken || query == breakIt
	return told(c, func() (driver.Result, error) { return c.driverConn.ExecContext(ctx, query, args) })
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return told(c, func() (driver.Rows, error) { return c.driverConn.QueryContext(ctx, query, args) })
}

func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	inner, err := c.driverConn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt{inner.(driverStmt), c}, nil
}

type driverStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// stmt is a statement that was compiled on a connection with a fault.
type stmt struct {
	driverStmt
	conn *conn
}

func (s stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return told(s.conn, func() (driver.Result, error) { return s.driverStmt.ExecContext(ctx, args) })
}

func (s stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return told(s.conn, func() (driver.Rows, error) { return s.driverStmt.QueryContext(ctx, args) })
}

func (c *conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	inner, err := told(c, func() (driver.Tx, error) { return c.driverConn.BeginTx(ctx, o) })
	return tx{c, inner}, err
}

func (c *conn) IsValid() bool { return !c.broken && c.driverConn.IsValid() }

type tx struct {
	conn *conn
	driver.Tx
}

func (t tx) Commit() error {
	_, err := told(t.conn, func() (any, error) { return nil, t.Tx.Commit() })
	return err
}

func (t tx) Rollback() error {
	_, err := told(t.conn, func() (any, error) { return nil, t.Tx.Rollback() })
	return err
}

func told[T any](c *conn, say func() (T, error)) (answer T, err error) {
	if c.broken {
		return answer, driver.ErrBadConn
	}
	err = c.fault.Exec(func() error {
		answer, err = say()
		return err
	})
	return answer, err
}
