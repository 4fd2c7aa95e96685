package mysql_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/mysql"
	"github.com/cronce/cronce/idempotency/store"
	"github.com/cronce/cronce/internal/testdb"
)

// everyByte has each byte value, and what an escape could be taken for.
var everyByte = func() []byte {
	var b []byte
	for c := range 256 {
		b = append(b, byte(c))
	}
	return append(b, `\' OR 1=1; -- \x00 ?`...)
}()

const awkward = `'"\?;%_` + "`\n\t\x01 é 漢 🧾 \\' -- /* # $$ */"

// What is stored is what was given, and no part of it is taken for SQL,
// whatever the session's modes and character set are, if Kit.Ready accepts them.
func TestEveryValueIsStoredAsItIs(t *testing.T) {
	modes := []string{"", "&sql_mode=%27NO_BACKSLASH_ESCAPES%27", "&sql_mode=%27ANSI%27", "&sql_mode=%27%27", "&charset=latin1", "&charset=ascii", "&charset=binary",
		"&charset=utf8mb4&character_set_connection=utf8mb4", "&charset=latin1&character_set_connection=latin1", "&charset=utf8mb4&collation_connection=utf8mb4_bin",
		"&interpolateParams=false&clientFoundRows=true&parseTime=true&columnsWithAlias=true"}
	replies := map[string]idempotency.Reply{
		"every byte":        {Status: 200, Body: everyByte, Header: http.Header{"Content-Type": {awkward, "b"}, "Link": {strings.Repeat("🧾", 300)}}},
		"no body":           {Status: 204},
		"an empty body":     {Status: 200, Body: []byte{}},
		"nothing":           {},
		"omitted":           {Status: 500, Omitted: true},
		"a mebibyte":        {Status: 200, Body: make([]byte, 1<<20)},
		"quoted text alone": {Status: 200, Body: []byte(awkward)},
	}
	testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) {
		dsn, modes := fresh(t), modes
		migrate(t, open(t, dsn))
		if strings.Contains(t.Name(), "/MariaDB/") {
			modes = append(modes, "&sql_mode=%27ORACLE%27")
		}
		for _, mode := range modes {
			db := open(t, dsn+advised+mode)
			says(t, kitOn(t, mysql.New(db, mysql.Options{})).Ready(t.Context()), "")
			for name, reply := range replies {
				storesAsItIs(t, mysql.New(db, mysql.Options{}), mode+": "+name, reply)
			}
		}
	})
}

func storesAsItIs(t *testing.T, s *mysql.Store, name string, reply idempotency.Reply) {
	t.Helper()
	c := store.Claim{
		Key:         idempotency.Key{Scope: awkward + name, Principal: string(everyByte[:200]) + "'", Value: `'"\?` + fmt.Sprint(len(name))},
		Fingerprint: `v1:'"\?`, Owner: `o'\"`, TTL: time.Hour, MaxRun: time.Minute}
	tx, status, err := s.Begin(t.Context(), c)
	if err != nil || !status.Held {
		t.Errorf("%s: %+v, %v", name, status, err)
		return
	}
	expires, err := tx.Commit(t.Context(), c, reply)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	status, err = s.Lookup(t.Context(), c)
	if err != nil || status.Record == nil {
		t.Errorf("%s: %+v, %v", name, status, err)
		return
	}
	got := status.Record
	if got.Fingerprint != c.Fingerprint || got.Owner != c.Owner || !got.ExpiresAt.Equal(expires) || time.Until(expires) < 59*time.Minute {
		t.Errorf("%s: %+v, expires %v", name, got, expires)
	}
	reply.ExpiresAt = got.ExpiresAt
	if (reply.Body == nil) != (got.Body == nil) || !bytes.Equal(reply.Body, got.Body) {
		t.Errorf("%s: the body is %.60q, was %.60q", name, got.Body, reply.Body)
	}
	reply.Body, got.Body = nil, nil
	if !reflect.DeepEqual(reply, got.Reply) {
		t.Errorf("%s: %+v, was %+v", name, got.Reply, reply)
	}
}

// The server finds the row by its key, and reads no other.
func TestALookUpReadsOneRow(t *testing.T) {
	testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) {
		db := open(t, fresh(t)+advised)
		migrate(t, db)
		s := mysql.New(db, mysql.Options{})
		for n := range 20 {
			storesAsItIs(t, s, fmt.Sprint(strings.Repeat("x", n)), idempotency.Reply{})
		}
		rows, err := db.Query(`EXPLAIN FORMAT=TRADITIONAL `+mysql.LookUp, nil, awkward, string(everyByte[:200])+"'", `'"\?0`)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		columns, err := rows.Columns()
		if err != nil || !rows.Next() {
			t.Fatal(columns, err)
		}
		values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		row := map[string]string{}
		for more := true; more && row["table"] != "idempotency_keys"; more = rows.Next() {
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			for i, column := range columns {
				row[column] = values[i].String
			}
		}
		if row["type"] != "const" || row["key"] != "PRIMARY" || row["rows"] != "1" || rows.Err() != nil {
			t.Errorf("the server reads the table by %v, %v", row, rows.Err())
		}
	})
}
