package postgres

import (
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Tune changes the connections' configuration after everything else.
func Tune(f func(*pgxpool.Config)) Option { return func(s *settings) { s.tune = f } }

// Set is a setting of the ledger's statements beside or in place of its own.
func Set(name, value string) Option {
	return func(s *settings) { s.set = map[string]string{name: value} }
}

// What the columns call and body hold; see encodeCall.
var (
	EncodeCall = encodeCall
	DecodeCall = decodeCall
)

// AfterOthers is what an admission sends of its plans, and what it does not.
var AfterOthers = (*Ledger).afterOthers

// Arrays are the lists as they are sent, by the type of array.
func Arrays(texts []string, bytes [][]byte, bools []bool, ints []int64, times []time.Time) map[uint32][]byte {
	a, b, c, d, e := newTextArray(0, 0), newBytesArray(0, 0), newBoolArray(0), newIntArray(0), newTimeArray(0)
	each(texts, a.add)
	each(bytes, b.add)
	each(bools, c.add)
	each(ints, d.add)
	each(times, e.addOrNull)
	return map[uint32][]byte{
		pgtype.TextArrayOID: a.wire(), pgtype.ByteaArrayOID: b.wire(), pgtype.BoolArrayOID: c.wire(),
		pgtype.Int8ArrayOID: d.wire(), pgtype.TimestamptzArrayOID: e.wire(),
	}
}

func each[T any](list []T, add func(T)) {
	for _, v := range list {
		add(v)
	}
}
