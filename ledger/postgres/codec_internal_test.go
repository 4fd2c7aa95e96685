package postgres

import (
	"math"
	"reflect"
	"testing"
	"testing/quick"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// What the codec writes, pgtype reads: the same values, and NULL for what has none.
func TestParametersAreReadByPgtype(t *testing.T) {
	m := pgtype.NewMap()
	registerUTC(m)
	scan := func(p *params, dest any) {
		t.Helper()
		for i, value := range p.values {
			if err := m.Scan(p.oids[i], pgtype.BinaryFormatCode, value, dest); err != nil {
				t.Fatalf("%x as %d: %v", value, p.oids[i], err)
			}
		}
	}
	check(t, func(s string, n int64, b bool, raw []byte, us int64) bool {
		at := anyTime(us)
		var p params
		p.text(s)
		var text *string
		scan(&p, &text)
		p = params{}
		p.int8(n)
		var number *int64
		scan(&p, &number)
		p = params{}
		p.add(int4Kind, appendInt4(nil, int(int32(n))))
		var small *int32
		scan(&p, &small)
		p = params{}
		p.bool(b)
		var flag *bool
		scan(&p, &flag)
		p = params{}
		p.bytes(raw)
		var bytes []byte
		scan(&p, &bytes)
		p = params{}
		p.time(at)
		var when *time.Time
		scan(&p, &when)
		return *text == sanitize(s) && *number == n && *small == int32(n) && *flag == b &&
			reflect.DeepEqual(bytes, raw) && (at.IsZero() && when == nil || !at.IsZero() && when.Equal(at))
	})
}

func TestArraysAreReadByPgtype(t *testing.T) {
	m := pgtype.NewMap()
	registerUTC(m)
	check(t, func(ss []string, us []int64) bool {
		var p params
		p.texts(ss)
		array(&p, textKind, ss, func(b []byte, s *string) []byte { return appendTextOrNull(b, *s) })
		times := make([]time.Time, len(us))
		for i := range us {
			times[i] = anyTime(us[i])
		}
		array(&p, timeKind, times, func(b []byte, at *time.Time) []byte { return appendTime(b, *at) })
		var texts []string
		var orNull []*string
		var read []*time.Time
		for i, dest := range []any{&texts, &orNull, &read} {
			if err := m.Scan(p.oids[i], pgtype.BinaryFormatCode, p.values[i], dest); err != nil {
				t.Fatal(err)
			}
		}
		if len(texts) != len(ss) || len(orNull) != len(ss) || len(read) != len(us) {
			return false
		}
		for i, s := range ss {
			if texts[i] != sanitize(s) || (s == "") != (orNull[i] == nil) {
				return false
			}
		}
		for i, at := range times {
			if at.IsZero() != (read[i] == nil) || read[i] != nil && !read[i].Equal(at) {
				return false
			}
		}
		return true
	})
}

// A parameter that was left out would move those after it.
func TestAParameterOfAnotherTypeIsNotDropped(t *testing.T) {
	defer func() {
		if got := recover(); got != "no parameter can be a float64" {
			t.Errorf("panic %v", got)
		}
	}()
	new(params).all([]any{"a", 1.5})
}

// What pgtype writes, the codec reads.
func TestColumnsOfPgtypeAreRead(t *testing.T) {
	m := pgtype.NewMap()
	encode := func(oid uint32, v any) []byte {
		t.Helper()
		b, err := m.Encode(oid, pgtype.BinaryFormatCode, v, []byte{})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	check(t, func(s string, n int64, b bool, raw []byte, us int64) bool {
		at := anyTime(us)
		v := values{[][]byte{
			encode(pgtype.TextOID, sanitize(s)), encode(pgtype.Int8OID, n), encode(pgtype.Int4OID, int32(n)), encode(pgtype.BoolOID, b),
			encode(pgtype.ByteaOID, raw), encode(pgtype.TimestamptzOID, orNull(at)),
			nil, nil, nil, nil, nil,
		}}
		same := v.Text() == sanitize(s) && v.Int() == n && v.Int() == int64(int32(n)) && v.Bool() == b &&
			reflect.DeepEqual(v.Bytes(), raw) && v.Time().Equal(at)
		return same && v.Text() == "" && v.Int() == 0 && !v.Bool() && v.Bytes() == nil && v.Time().IsZero()
	})
}

func check(t *testing.T, property any) {
	t.Helper()
	if err := quick.Check(property, &quick.Config{MaxCount: 2000}); err != nil {
		t.Error(err)
	}
}

// anyTime is a time to the microsecond in the years that PostgreSQL has; one in eight is
// the zero time.
func anyTime(us int64) time.Time {
	if us%8 == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us % (math.MaxInt64 / 100)).UTC()
}

// Whatever text comes from outside, the server can store what is sent.
func FuzzATextParameterIsStorable(f *testing.F) {
	for _, s := range []string{"", "a", "\x00", "\xff", "é", "a\x00\xffb", "\uFFFD"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := string(appendText(nil, s)[4:])
		if got != sanitize(s) || !isStorable(got) {
			t.Errorf("%q is sent as %q, want %q", s, got, sanitize(s))
		}
	})
}

// orNull is nil, which is sent as NULL, for the zero time.
func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
