package postgres_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
)

// FuzzArrays: an array is byte for byte what pgx makes of the same list, be it
// empty, have NULLs, or be longer than it was made for.
func FuzzArrays(f *testing.F) {
	f.Add(uint64(1), uint8(0), "", []byte(nil), int64(0), int64(0))
	f.Add(uint64(2), uint8(1), "job@2026-03-08T02:30:00Z", []byte("{}"), int64(-1), int64(-1))
	f.Add(uint64(3), uint8(200), "{NULL,\"\\\x00\xff", []byte{0}, int64(1)<<62, int64(946_684_800_000_001))
	f.Fuzz(func(t *testing.T, seed uint64, n uint8, text string, body []byte, number, at int64) {
		r := rand.New(rand.NewPCG(seed, 0))
		texts, bodies, bools, ints, times := []string{}, [][]byte{}, []bool{}, []int64{}, []*time.Time{}
		for range n {
			texts = append(texts, text[:r.IntN(len(text)+1)])
			bodies = append(bodies, perhaps(r, body[:r.IntN(len(body)+1)]))
			bools = append(bools, r.IntN(2) == 0)
			ints = append(ints, number*r.Int64())
			times = append(times, perhapsTime(r, time.UnixMicro(at%(1<<55)+r.Int64N(1<<40)).Add(time.Duration(r.IntN(1000)))))
		}
		sent := postgres.Arrays(texts, bodies, bools, ints, values(times))
		m := pgtype.NewMap()
		for oid, list := range map[uint32]any{
			pgtype.TextArrayOID: texts, pgtype.ByteaArrayOID: bodies, pgtype.BoolArrayOID: bools,
			pgtype.Int8ArrayOID: ints, pgtype.TimestamptzArrayOID: times,
		} {
			want, err := m.Encode(oid, pgtype.BinaryFormatCode, list, nil)
			if err != nil || !bytes.Equal(sent[oid], want) {
				t.Errorf("%v: sent as\n%x, want\n%x, %v", list, sent[oid], want, err)
			}
		}
	})
}

func perhaps(r *rand.Rand, b []byte) []byte {
	if r.IntN(4) == 0 {
		return nil
	}
	return append([]byte{}, b...)
}

func perhapsTime(r *rand.Rand, at time.Time) *time.Time {
	if r.IntN(4) == 0 {
		return nil
	}
	return &at
}

// values has zero times for the missing ones.
func values(times []*time.Time) []time.Time {
	list := make([]time.Time, len(times))
	for i, t := range times {
		if t != nil {
			list[i] = *t
		}
	}
	return list
}

// Whatever a URL asks of pgx, arrays arrive.
func TestARunIsWrittenInEveryQueryMode(t *testing.T) {
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
		pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			f := newFleet(t, 3, ledger.OverlapSkip)
			f.Ledger.Close()
			separator := "?"
			if strings.Contains(f.url, "?") {
				separator = "&"
			}
			f.Ledger = open(t, f.url+separator+"default_query_exec_mode="+strings.ReplaceAll(mode.String(), " ", "_"))
			f.record(t, f.admit(t, true))
			if got, err := f.List(t.Context(), ledger.Filter{States: []ledger.State{ledger.Succeeded}}); err != nil || len(got) != 3 {
				t.Errorf("%d runs succeeded: %v", len(got), err)
			}
		})
	}
}
