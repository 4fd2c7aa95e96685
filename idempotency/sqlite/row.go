package sqlite

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
)

// scanner is *sql.Row, or a row.
type scanner interface{ Scan(into ...any) error }

// row is what a kept statement answered.
type row struct {
	values []driver.Value // nil: no row
	err    error
}

// read takes the first row.
func (r *row) read(rows driver.Rows, err error) error {
	if err != nil {
		return err
	}
	values := make([]driver.Value, len(rows.Columns()))
	switch err = rows.Next(values); {
	case err == nil:
		r.values = values
	case errors.Is(err, io.EOF):
		err = nil
	}
	return errors.Join(err, rows.Close())
}

// Scan is that of *sql.Row, for what the stores read.
func (r row) Scan(into ...any) error {
	if r.err != nil {
		return r.err
	}
	if r.values == nil {
		return sql.ErrNoRows
	}
	for i, v := range r.values {
		if err := assign(into[i], v); err != nil {
			return fmt.Errorf("column %d: %w", i+1, err)
		}
	}
	return nil
}

// assign: the driver makes values of int64, string and []byte, and nil of NULL
// and of an empty BLOB.
func assign(into any, v driver.Value) error {
	switch to := into.(type) {
	case sql.Scanner:
		return to.Scan(v)
	case *[]byte:
		switch v := v.(type) {
		case nil:
			*to = nil
			return nil
		case []byte:
			*to = v
			return nil
		case string:
			*to = []byte(v)
			return nil
		}
	case *int64:
		if n, ok := v.(int64); ok {
			*to = n
			return nil
		}
	case *bool:
		if n, ok := v.(int64); ok {
			*to = n != 0
			return nil
		}
	}
	return fmt.Errorf("%T does not hold %T", into, v)
}
