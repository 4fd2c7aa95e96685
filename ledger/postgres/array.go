package postgres

import (
	"encoding/binary"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// An array is one column of a statement's rows, in PostgreSQL's binary format
// for arrays (array_recv in the server's arrayfuncs.c): it is written while the
// rows are looked at, and sent as it is. pgx would take a slice apart, which
// costs an allocation or two for each element.
type array []byte

// textArray are an array of text, and so on. Each add appends one element.
type (
	textArray  struct{ array }
	bytesArray struct{ array } // bytea, NULL for nil
	boolArray  struct{ array } // boolean
	intArray   struct{ array } // bigint
	timeArray  struct{ array } // timestamptz, in whole microseconds
)

// Each is made for n elements, those that vary in length for so many bytes in
// all; more may come.

func newTextArray(n, bytes int) textArray   { return textArray{newArray(pgtype.TextOID, n, bytes)} }
func newBytesArray(n, bytes int) bytesArray { return bytesArray{newArray(pgtype.ByteaOID, n, bytes)} }
func newBoolArray(n int) boolArray          { return boolArray{newArray(pgtype.BoolOID, n, n)} }
func newIntArray(n int) intArray            { return intArray{newArray(pgtype.Int8OID, n, 8*n)} }
func newTimeArray(n int) timeArray          { return timeArray{newArray(pgtype.TimestamptzOID, n, 8*n)} }

// What the head of an array says, and where: one dimension, whether there are
// NULLs, the elements' type, how many they are, and that they count from 1.
// After it, each element follows its length, which is -1 for NULL.
const (
	nullsAt    = 4
	countAt    = 12
	headLength = 20
)

func newArray(element uint32, n, bytes int) array {
	a := make(array, 0, headLength+4*n+bytes)
	for _, field := range []uint32{1, 0, element, 0, 1} {
		a = binary.BigEndian.AppendUint32(a, field)
	}
	return a
}

// next begins an element.
func (a *array) next(length int32) {
	count := (*a)[countAt:]
	binary.BigEndian.PutUint32(count, binary.BigEndian.Uint32(count)+1)
	*a = binary.BigEndian.AppendUint32(*a, uint32(length))
}

func (a *array) null() {
	binary.BigEndian.PutUint32((*a)[nullsAt:], 1)
	a.next(-1)
}

func (a *textArray) add(s string) {
	a.next(int32(len(s)))
	a.array = append(a.array, s...)
}

func (a *bytesArray) add(b []byte) {
	if b == nil {
		a.null()
		return
	}
	a.next(int32(len(b)))
	a.array = append(a.array, b...)
}

func (a *boolArray) add(set bool) {
	a.next(1)
	if set {
		a.array = append(a.array, 1)
	} else {
		a.array = append(a.array, 0)
	}
}

func (a *intArray) add(n int64) {
	a.next(8)
	a.array = binary.BigEndian.AppendUint64(a.array, uint64(n))
}

// revision is where PostgreSQL's times begin, 1 January 2000, in microseconds of
// Unix time.
const revision = 946_684_800_000_000

func (a *timeArray) add(t time.Time) {
	a.next(8)
	a.array = binary.BigEndian.AppendUint64(a.array, uint64(t.UnixMicro()-revision))
}

// addOrNull adds NULL for the zero time.
func (a *timeArray) addOrNull(t time.Time) {
	if t.IsZero() {
		a.null()
	} else {
		a.add(t)
	}
}

// wire is what is sent.
func (a array) wire() []byte { return a }

// sendArrays has a connection send arrays as they are.
func sendArrays(m *pgtype.Map) {
	for _, oid := range []uint32{
		pgtype.TextArrayOID, pgtype.ByteaArrayOID, pgtype.BoolArrayOID, pgtype.Int8ArrayOID, pgtype.TimestamptzArrayOID,
	} {
		if t, ok := m.TypeForOID(oid); ok {
			m.RegisterType(&pgtype.Type{Name: t.Name, OID: oid, Codec: arrayCodec{t.Codec}})
		}
	}
}

// arrayCodec is pgx's codec for a type of arrays, and ours.
type arrayCodec struct{ pgtype.Codec }

func (c arrayCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if _, ours := value.(interface{ wire() []byte }); ours && format == pgtype.BinaryFormatCode {
		return asItIs{}
	}
	return c.Codec.PlanEncode(m, oid, format, value)
}

type asItIs struct{}

func (asItIs) Encode(value any, buf []byte) ([]byte, error) {
	return append(buf, value.(interface{ wire() []byte }).wire()...), nil
}
