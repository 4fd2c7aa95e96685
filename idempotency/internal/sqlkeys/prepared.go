package sqlkeys

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"reflect"
)

// prepared is a transaction of package sql's on a connection that it does not
// own, for the statements that work prepares. Package sql tells nobody of the
// rows of a statement, and lets a connection go only when they are closed; of
// those of a transaction it closes all that are open at its end, as [Work]
// wants it. To the connection its beginning and its end say nothing.
type prepared struct {
	db *sql.DB
	tx *sql.Tx
}

func preparedOn(conn *sql.Conn) (*prepared, error) {
	db := sql.OpenDB(borrowed{conn})
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &prepared{db, tx}, nil
}

func (p *prepared) end() {
	_ = p.tx.Rollback()
	_ = p.db.Close()
}

// borrowed is a connection as a driver has it. All that is said on it is said
// within Raw, which has it to itself for as long.
type borrowed struct{ *sql.Conn }

var (
	_ driver.Connector          = borrowed{}
	_ driver.ConnPrepareContext = borrowed{}
)

func (b borrowed) Connect(context.Context) (driver.Conn, error) { return b, nil }
func (b borrowed) Driver() driver.Driver                        { return nil }
func (b borrowed) Close() error                                 { return nil }
func (b borrowed) Begin() (driver.Tx, error)                    { return b, nil }
func (b borrowed) Commit() error                                { return nil }
func (b borrowed) Rollback() error                              { return nil }

func (b borrowed) Prepare(query string) (driver.Stmt, error) {
	return b.PrepareContext(context.Background(), query)
}

// preparer is what the drivers' connections are, and those that wrap them.
type preparer interface {
	driver.Conn
	driver.ConnPrepareContext
}

// contextStmt is what their statements are.
type contextStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// PrepareContext is [driver.ErrSkip] on a connection that knows no contexts.
func (b borrowed) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	s := &stmt{conn: b.Conn}
	err := b.Raw(func(dc any) error {
		c, ok := dc.(preparer)
		if !ok {
			return driver.ErrSkip
		}
		made, err := c.PrepareContext(ctx, query)
		if err != nil {
			return err
		}
		if s.contextStmt, ok = made.(contextStmt); !ok {
			return errors.Join(driver.ErrSkip, made.Close())
		}
		if s.checker, ok = made.(driver.NamedValueChecker); !ok {
			s.checker, _ = c.(driver.NamedValueChecker)
		}
		return nil
	})
	return s, err
}

type stmt struct {
	contextStmt
	conn    *sql.Conn
	checker driver.NamedValueChecker // nil: it takes the usual values
}

func (s *stmt) CheckNamedValue(v *driver.NamedValue) error {
	if s.checker == nil {
		return driver.ErrSkip
	}
	return s.checker.CheckNamedValue(v)
}

func (s *stmt) Close() error {
	return s.conn.Raw(func(any) error { return s.contextStmt.Close() })
}

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (r driver.Result, err error) {
	err = s.conn.Raw(func(any) (err error) {
		r, err = s.contextStmt.ExecContext(ctx, args)
		return err
	})
	return r, err
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	r := &rows{conn: s.conn}
	err := s.conn.Raw(func(any) (err error) {
		r.Rows, err = s.contextStmt.QueryContext(ctx, args)
		return err
	})
	return r, err
}

type rows struct {
	driver.Rows
	conn *sql.Conn
}

func (r *rows) Next(into []driver.Value) error {
	return r.conn.Raw(func(any) error { return r.Rows.Next(into) })
}

func (r *rows) Close() error {
	return r.conn.Raw(func(any) error { return r.Rows.Close() })
}

// What only some drivers know of rows; else it is as package sql has it.

func (r *rows) HasNextResultSet() bool {
	m, ok := r.Rows.(driver.RowsNextResultSet)
	return ok && m.HasNextResultSet()
}

func (r *rows) NextResultSet() error {
	m, ok := r.Rows.(driver.RowsNextResultSet)
	if !ok {
		return io.EOF
	}
	return r.conn.Raw(func(any) error { return m.NextResultSet() })
}

func (r *rows) ColumnTypeScanType(i int) reflect.Type {
	if c, ok := r.Rows.(driver.RowsColumnTypeScanType); ok {
		return c.ColumnTypeScanType(i)
	}
	return reflect.TypeFor[any]()
}

func (r *rows) ColumnTypeDatabaseTypeName(i int) string {
	if c, ok := r.Rows.(driver.RowsColumnTypeDatabaseTypeName); ok {
		return c.ColumnTypeDatabaseTypeName(i)
	}
	return ""
}

func (r *rows) ColumnTypeLength(i int) (length int64, ok bool) {
	if c, has := r.Rows.(driver.RowsColumnTypeLength); has {
		return c.ColumnTypeLength(i)
	}
	return 0, false
}

func (r *rows) ColumnTypeNullable(i int) (nullable, ok bool) {
	if c, has := r.Rows.(driver.RowsColumnTypeNullable); has {
		return c.ColumnTypeNullable(i)
	}
	return false, false
}

func (r *rows) ColumnTypePrecisionScale(i int) (precision, scale int64, ok bool) {
	if c, has := r.Rows.(driver.RowsColumnTypePrecisionScale); has {
		return c.ColumnTypePrecisionScale(i)
	}
	return 0, 0, false
}
