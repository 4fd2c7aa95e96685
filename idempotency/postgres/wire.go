package postgres

import (
	"bytes"
	"encoding/binary"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/cronce/cronce/idempotency"
)

// shape is what a statement takes and gives, in PostgreSQL's types, and how
// each value travels.
type shape struct {
	takes, gives     []uint32
	takesAs, givesAs []int16
}

const textOID = pgtype.TextOID

// In the order of the statements' parameters and columns.
var (
	lockShape = newShape([]uint32{pgtype.Int8OID, textOID}, []uint32{pgtype.BoolOID, pgtype.TimestamptzOID})
	lookShape = newShape([]uint32{textOID, textOID, textOID},
		[]uint32{textOID, textOID, textOID, pgtype.Int4OID, pgtype.JSONBOID, pgtype.ByteaOID, pgtype.TimestamptzOID, pgtype.BoolOID, pgtype.BoolOID})
	recordShape = newShape([]uint32{textOID, textOID, textOID, textOID, textOID, pgtype.Int4OID, pgtype.JSONBOID, pgtype.ByteaOID, textOID,
		pgtype.TimestamptzOID, pgtype.TimestamptzOID}, nil)
)

func newShape(takes, gives []uint32) shape {
	return shape{takes, gives, formats(takes), formats(gives)}
}

// formats sends as text what is text, and JSON, whose binary form is versioned.
func formats(types []uint32) []int16 {
	f := make([]int16, len(types))
	for i, t := range types {
		if t != pgtype.TextOID && t != pgtype.JSONBOID {
			f[i] = pgx.BinaryFormatCode
		}
	}
	return f
}

// fits reports whether the server described the statement so. It does not when
// somebody has given a column another type.
func (s shape) fits(d *pgconn.StatementDescription) bool {
	return slices.Equal(d.ParamOIDs, s.takes) &&
		slices.EqualFunc(d.Fields, s.gives, func(f pgconn.FieldDescription, t uint32) bool { return f.DataTypeOID == t })
}

// done reports whether the next statement was carried out. Of what fails the
// results' Close tells.
func done(results *pgconn.MultiResultReader) bool {
	if !results.NextResult() {
		return false
	}
	_, err := results.ResultReader().Close()
	return err == nil
}

// only reads the one row that the next result may have, which is valid for read
// alone. Of what fails the results' Close tells.
func only(results *pgconn.MultiResultReader, read func(row [][]byte)) {
	if !results.NextResult() {
		return
	}
	result := results.ResultReader()
	if result.NextRow() {
		read(result.Values())
	}
	_, _ = result.Close()
}

// epoch is where PostgreSQL's binary times begin, 1 January 2000, in
// microseconds of Unix time.
const epoch = 946_684_800_000_000

func timestamp(t time.Time) []byte { return bigint(t.UnixMicro() - epoch) }

func bigint(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

func readTime(b []byte) time.Time {
	return time.UnixMicro(int64(binary.BigEndian.Uint64(b)) + epoch)
}

func readBool(b []byte) bool { return b[0] != 0 }

// truth is a boolean that may be null.
func truth(b []byte) bool { return b != nil && readBool(b) }

// readStored reads a row of the look-up.
func readStored(row [][]byte) stored {
	s := stored{state: idempotency.State(row[0]), fingerprint: string(row[1]), owner: string(row[2]),
		header: bytes.Clone(row[4]), body: bytes.Clone(row[5]), expired: truth(row[7]), lapsed: truth(row[8])}
	if row[3] != nil {
		status := int(int32(binary.BigEndian.Uint32(row[3])))
		s.status = &status
	}
	if row[6] != nil {
		expires := readTime(row[6])
		s.expires = &expires
	}
	return s
}
