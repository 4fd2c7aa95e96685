package sqlite

import (
	"database/sql"
	"encoding/json"
	"time"
)

// columns makes the parameters of a statement what columns have: a time is in microseconds, the
// zero time is NULL, and a list is JSON, as json_each takes it.
func columns(args []any) []any {
	for i, v := range args {
		switch v := v.(type) {
		case time.Time:
			args[i] = micros(v)
		case []string:
			args[i] = array(v)
		case []int64:
			args[i] = array(v)
		}
	}
	return args
}

// array returns a list as the JSON that json_each reads.
func array[T any](list []T) string {
	if len(list) == 0 {
		return `[]`
	}
	b, err := json.Marshal(list)
	if err != nil {
		panic(err) // texts and numbers cannot fail
	}
	return string(b)
}

// at returns the time of a column, and micros the column of a time.
func at(us int64) time.Time { return time.UnixMicro(us).UTC() }

// micros returns the column of a time, in microseconds; NULL for the zero time.
func micros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// orNull returns a text; NULL for "".
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// blob returns a value that is never NULL.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// values are the sqltx.Values of the rows of one query. The tables are STRICT: a column has the
// type that is asked for.
type values struct {
	columns []any
	into    []any // their addresses
	read    int
	raw     []byte
}

// scan reads the next row, into the same columns for all rows of the query.
func (v *values) scan(rows *sql.Rows) error {
	v.read = 0
	if v.into == nil {
		names, err := rows.Columns()
		if err != nil {
			return err
		}
		v.columns, v.into = make([]any, len(names)), make([]any, len(names))
		for i := range v.columns {
			v.into[i] = &v.columns[i]
		}
	}
	return rows.Scan(v.into...)
}

// next returns the column that is to be read next.
func (v *values) next() any {
	v.read++
	return v.columns[v.read-1]
}

func (v *values) Text() string {
	s, _ := v.next().(string)
	return s
}

func (v *values) Bytes() []byte {
	b, _ := v.next().([]byte)
	return b
}

// Raw returns the bytes of a text, and nil for NULL.
func (v *values) Raw() []byte {
	s, ok := v.next().(string)
	if !ok {
		return nil
	}
	v.raw = append(v.raw[:0], s...)
	return v.raw
}

func (v *values) Int() int64 {
	n, _ := v.next().(int64)
	return n
}

func (v *values) Bool() bool { return v.Int() != 0 }

func (v *values) Time() time.Time {
	us, ok := v.next().(int64)
	if !ok {
		return time.Time{}
	}
	return at(us)
}
