package postgres

import (
	"encoding/binary"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/cronce/cronce/ledger"
)

// The codec writes parameters and reads rows in PostgreSQL's binary format. A claim has
// hundreds of rows of forty columns: pgtype's way, by reflection, costs several times the
// CPU.

// datatype is a type of a parameter, and the type of its array.
type datatype struct{ scalar, array uint32 }

var (
	textKind  = datatype{pgtype.TextOID, pgtype.TextArrayOID}
	boolKind  = datatype{pgtype.BoolOID, pgtype.BoolArrayOID}
	int4Kind  = datatype{pgtype.Int4OID, pgtype.Int4ArrayOID}
	int8Kind  = datatype{pgtype.Int8OID, pgtype.Int8ArrayOID}
	bytesKind = datatype{pgtype.ByteaOID, pgtype.ByteaArrayOID}
	timeKind  = datatype{pgtype.TimestamptzOID, pgtype.TimestamptzArrayOID}
)

// The functions below append a value with its length, as an element of an array has it.

func appendNull(b []byte) []byte { return append(b, 0xff, 0xff, 0xff, 0xff) }

// appendText makes a text from outside acceptable first: see sanitize.
func appendText(b []byte, s string) []byte {
	if !isStorable(s) {
		s = sanitize(s)
	}
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

// isStorable reports whether PostgreSQL takes a text as it is. Nearly every text is plain ASCII,
// and costs one pass.
func isStorable(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c == 0 || c >= utf8.RuneSelf {
			return sanitize(s) == s
		}
	}
	return true
}

// sanitize makes a text from outside acceptable to PostgreSQL: valid UTF-8 without
// NUL. An invalid byte in a target's answer must not prevent its record. An ID with
// an invalid byte finds no row, since no ID contains the replacement character.
func sanitize(s string) string {
	return ledger.StorableText(s, len("\uFFFD")*len(s)) // it may grow: "j\x00" must not become "j", another ID
}

// appendTextOrNull appends NULL for "".
func appendTextOrNull(b []byte, s string) []byte {
	if s == "" {
		return appendNull(b)
	}
	return appendText(b, s)
}

// appendJSON appends a text of encoding/json, which is acceptable, and NULL for "".
func appendJSON(b []byte, s string) []byte {
	if s == "" {
		return appendNull(b)
	}
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

// appendBytes appends NULL for nil.
func appendBytes(b, v []byte) []byte {
	if v == nil {
		return appendNull(b)
	}
	return append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 0, 0, 0, 1, 1)
	}
	return append(b, 0, 0, 0, 1, 0)
}

func appendInt4(b []byte, v int) []byte {
	return binary.BigEndian.AppendUint32(append(b, 0, 0, 0, 4), uint32(int32(v)))
}

func appendInt8(b []byte, v int64) []byte {
	return binary.BigEndian.AppendUint64(append(b, 0, 0, 0, 8), uint64(v))
}

// epoch is PostgreSQL's, from which its times count microseconds.
const epoch = 946684800 * 1e6

// appendTime appends NULL for the zero time.
func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return appendNull(b)
	}
	return appendInt8(b, t.UnixMicro()-epoch)
}

// params are the parameters of a statement.
type params struct {
	values [][]byte
	oids   []uint32
}

// add adds a value that was appended to an empty buffer.
func (p *params) add(k datatype, element []byte) {
	value := element[4:]
	if binary.BigEndian.Uint32(element) == 0xffffffff {
		value = nil
	}
	p.values, p.oids = append(p.values, value), append(p.oids, k.scalar)
}

func (p *params) text(s string)     { p.add(textKind, appendText(nil, s)) }
func (p *params) int8(v int64)      { p.add(int8Kind, appendInt8(nil, v)) }
func (p *params) time(t time.Time)  { p.add(timeKind, appendTime(nil, t)) }
func (p *params) bool(v bool)       { p.add(boolKind, appendBool(nil, v)) }
func (p *params) bytes(v []byte)    { p.add(bytesKind, appendBytes(nil, v)) }
func (p *params) texts(ss []string) { array(p, textKind, ss, putText) }

func putText(b []byte, s *string) []byte { return appendText(b, *s) }

// array adds an array of one element for each item.
func array[T any](p *params, d datatype, items []T, put func([]byte, *T) []byte) {
	if len(items) == 0 {
		p.addArray(d, binary.BigEndian.AppendUint32(make([]byte, 8), d.scalar)) // no dimension
		return
	}
	first := put(nil, &items[0])
	b := make([]byte, 0, 20+(len(first)+len(first)/8+1)*len(items)) // most are about as long
	b = append(b, 0, 0, 0, 1, 0, 0, 0, 1)                           // one dimension; there may be NULLs
	b = binary.BigEndian.AppendUint32(b, d.scalar)
	b = binary.BigEndian.AppendUint32(b, uint32(len(items)))
	b = append(b, 0, 0, 0, 1) // the number of the first element
	b = append(b, first...)
	for i := range items[1:] {
		b = put(b, &items[i+1])
	}
	p.addArray(d, b)
}

func (p *params) addArray(d datatype, value []byte) {
	p.values, p.oids = append(p.values, value), append(p.oids, d.array)
}

// values are the sqltx.Values of a row.
type values struct {
	columns [][]byte
}

// Raw returns the bytes of a column, which are valid until the next row is read.
func (v *values) Raw() []byte {
	b := v.columns[0]
	v.columns = v.columns[1:]
	return b
}

// Text returns "" for NULL.
func (v *values) Text() string { return string(v.Raw()) }

// Bytes returns nil for NULL.
func (v *values) Bytes() []byte {
	b := v.Raw()
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}

func (v *values) Bool() bool {
	b := v.Raw()
	return len(b) > 0 && b[0] != 0
}

// Int returns an int4 or an int8, and 0 for NULL.
func (v *values) Int() int64 {
	switch b := v.Raw(); len(b) {
	case 4:
		return int64(int32(binary.BigEndian.Uint32(b)))
	case 8:
		return int64(binary.BigEndian.Uint64(b))
	default:
		return 0
	}
}

// Time returns the zero time for NULL.
func (v *values) Time() time.Time {
	b := v.Raw()
	if len(b) != 8 {
		return time.Time{}
	}
	return time.UnixMicro(int64(binary.BigEndian.Uint64(b)) + epoch).UTC()
}

// all adds the parameters of a sqltx.Query.
func (p *params) all(list []any) {
	for _, v := range list {
		switch v := v.(type) {
		case string:
			p.text(v)
		case []string:
			p.texts(v)
		case int:
			p.int8(int64(v))
		case int64:
			p.int8(v)
		case []int64:
			array(p, int8Kind, v, func(b []byte, n *int64) []byte { return appendInt8(b, *n) })
		case bool:
			p.bool(v)
		case []byte:
			p.bytes(v)
		case time.Time:
			p.time(v)
		case []time.Time:
			array(p, timeKind, v, func(b []byte, t *time.Time) []byte { return appendTime(b, *t) })
		case [][]byte:
			array(p, bytesKind, v, func(b []byte, e *[]byte) []byte { return appendBytes(b, *e) })
		default:
			panic(fmt.Sprintf("no parameter can be a %T", v))
		}
	}
}

// mapN returns the parameter that has a value of each of n items.
func mapN[V any](n int, of func(i int) V) []V {
	values := make([]V, n)
	for i := range values {
		values[i] = of(i)
	}
	return values
}
