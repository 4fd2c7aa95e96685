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
// a tenth of the patience with a process that is stopped.
func openFaulty(t *testing.T, path string, f *idempotencytest.Fault) *sql.DB {
	t.Helper()
	return openWaiting(t, path, f, 500*time.Millisecond)
}

// openWaiting opens the file as open does, but for the patience with others.
func openWaiting(t *testing.T, path string, f *idempotencytest.Fault, patience time.Duration) *sql.DB {
	t.Helper()
	plain, err := modernc.NewConnector(sqlite.Source(path))
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(sqlite.Keeping(faulty{plain, f, patience}))
	t.Cleanup(func() { db.Close() })
	return db
}

type faulty struct {
	driver.Connector
	fault    *idempotencytest.Fault
	patience time.Duration
}

func (c faulty) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	inner := opened.(sqlite.DriverConn)
	_, err = inner.ExecContext(ctx, fmt.Sprint(`PRAGMA busy_timeout = `, c.patience.Milliseconds()), nil)
	return conn{inner, c.fault}, err
}

type conn struct {
	sqlite.DriverConn
	fault *idempotencytest.Fault
}

func (c conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return told(c.fault, func() (driver.Result, error) { return c.DriverConn.ExecContext(ctx, query, args) })
}

func (c conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return told(c.fault, func() (driver.Rows, error) { return c.DriverConn.QueryContext(ctx, query, args) })
}

func (c conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	s, err := c.DriverConn.PrepareContext(ctx, query)
	return stmt{s, c.fault}, err
}

type stmt struct {
	driver.Stmt
	fault *idempotencytest.Fault
}

func (s stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return told(s.fault, func() (driver.Result, error) { return s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args) })
}

func (s stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return told(s.fault, func() (driver.Rows, error) { return s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args) })
}

func told[T any](f *idempotencytest.Fault, say func() (T, error)) (answer T, err error) {
	err = f.Say(func() error {
		answer, err = say()
		return err
	})
	return answer, err
}
