package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	modernc "modernc.org/sqlite"
)

// connector opens connections that keep the stores' statements.
type connector struct{ driver.Connector }

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if d, ok := conn.(driverConn); ok {
		return &keeper{driverConn: d, kept: map[string]driver.Stmt{}}, err
	}
	return conn, err
}

// driverConn is what a connection of the driver can do, for database/sql and for
// those who ask for it by (*sql.Conn).Raw.
type driverConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
	modernc.FileControl
	modernc.HookRegisterer
	NewBackup(destination string) (*modernc.Backup, error)
	NewRestore(source string) (*modernc.Backup, error)
	Serialize() ([]byte, error)
	Deserialize([]byte) error
}

// keeper is a connection that keeps the statements of the stores compiled:
// compiling them took more of a request's time than running them. SQLite
// compiles one again by itself when the schema has changed. database/sql has a
// connection used by one goroutine at a time.
type keeper struct {
	driverConn
	kept map[string]driver.Stmt
}

// maxKept is more than the stores of any program say; beyond it all are
// compiled anew.
const maxKept = 64

// Close closes the statements first: with one left, SQLite would keep the file
// open.
func (k *keeper) Close() error {
	k.forget()
	return k.driverConn.Close()
}

func (k *keeper) forget() {
	for text, s := range k.kept {
		_ = s.Close()
		delete(k.kept, text)
	}
}

// statement is one of the stores', compiled.
func (k *keeper) statement(text string) (s driver.Stmt, err error) {
	if s = k.kept[text]; s != nil {
		return s, nil
	}
	if len(k.kept) == maxKept {
		k.forget()
	}
	if s, err = k.PrepareContext(context.Background(), text); err == nil {
		k.kept[text] = s
	}
	return s, err
}

// kept has a statement run on a connection that keeps it, below database/sql.
// Nothing cuts it short: it touches a few pages and, with the write lock held,
// waits for nobody; and to watch a context the driver would start a goroutine.
func kept(conn *sql.Conn, text string, args []any, do func(driver.Stmt, []driver.NamedValue) error) error {
	return conn.Raw(func(dc any) error {
		k, ok := dc.(*keeper)
		if !ok {
			return driver.ErrSkip
		}
		values, err := named(args)
		if err != nil {
			return err
		}
		s, err := k.statement(text)
		if err != nil {
			return err
		}
		return do(s, values)
	})
}

func named(args []any) (values []driver.NamedValue, err error) {
	values = make([]driver.NamedValue, len(args))
	for i, arg := range args {
		values[i].Ordinal = i + 1
		if values[i].Value, err = driver.DefaultParameterConverter.ConvertValue(arg); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// exec runs a statement of a store's on a connection of its own.
func exec(ctx context.Context, conn *sql.Conn, text string, args ...any) (r sql.Result, err error) {
	err = kept(conn, text, args, func(s driver.Stmt, values []driver.NamedValue) (err error) {
		r, err = s.(driver.StmtExecContext).ExecContext(context.Background(), values)
		return err
	})
	if errors.Is(err, driver.ErrSkip) {
		return conn.ExecContext(context.WithoutCancel(ctx), text, args...)
	}
	return r, err
}

// queryRow is exec for a statement with one row, or none.
func queryRow(ctx context.Context, conn *sql.Conn, text string, args ...any) scanner {
	var r row
	r.err = kept(conn, text, args, func(s driver.Stmt, values []driver.NamedValue) error {
		return r.read(s.(driver.StmtQueryContext).QueryContext(context.Background(), values))
	})
	if errors.Is(r.err, driver.ErrSkip) {
		return conn.QueryRowContext(context.WithoutCancel(ctx), text, args...)
	}
	return r
}
