package sqlite_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"testing"

	modernc "modernc.org/sqlite"

	"github.com/cronce/cronce/idempotency/idempotencytest"
	"github.com/cronce/cronce/idempotency/sqlite"
)

// openFaulty opens the file as open does, with a fault among the statements and
// a tenth of the patience with a process that is stopped.
func openFaulty(t *testing.T, path string, f *idempotencytest.Fault) *sql.DB {
	t.Helper()
	db := sql.OpenDB(connector{sqlite.Source(path), f})
	t.Cleanup(func() { db.Close() })
	return db
}

type connector struct {
	source string
	fault  *idempotencytest.Fault
}

func (c connector) Driver() driver.Driver { return &modernc.Driver{} }

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := c.Driver().Open(c.source)
	if err != nil {
		return nil, err
	}
	inner := opened.(innerConn)
	_, err = inner.ExecContext(ctx, `PRAGMA busy_timeout = 500`, nil)
	return conn{inner, c.fault}, err
}

type innerConn interface {
	driver.Conn
	driver.ExecerContext
	driver.QueryerContext
}

type conn struct {
	innerConn
	fault *idempotencytest.Fault
}

func (c conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (r driver.Result, err error) {
	err = c.fault.Say(func() error {
		r, err = c.innerConn.ExecContext(ctx, query, args)
		return err
	})
	return r, err
}

func (c conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (r driver.Rows, err error) {
	err = c.fault.Say(func() error {
		r, err = c.innerConn.QueryContext(ctx, query, args)
		return err
	})
	return r, err
}
