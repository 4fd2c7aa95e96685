package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cronce/cronce/idempotency/postgres"
)

// What hides a semicolon, and what only seems to.
var hides = []string{"'", "''", "\\", "\\'", ";", "E'", "e '", "ee'", "U&'", "N'", "$$", "$a$", "$1", "a$$", "1e'", `"`, `""`, "--", "\n", " ", "/*", "*/", "x", "'\n'"}

// Semicolons are counted as the server counts them.
func TestSQLIsSplitAsTheServerSplitsIt(t *testing.T) {
	p := pool(t, database(t))
	conn, err := p.Acquire(t.Context())
	fatal(t, err)
	defer conn.Release()
	random, compared := rand.New(rand.NewPCG(1, 2)), 0
	for n := range 20_000 {
		escapes := n >= 10_000
		if n%10_000 == 0 {
			_, err := conn.Exec(t.Context(), fmt.Sprintf(`SET standard_conforming_strings = %t`, !escapes))
			fatal(t, err)
		}
		var sql strings.Builder
		sql.WriteString([]string{"SELECT ", "SELECT 1 AS "}[random.IntN(2)])
		for range 1 + random.IntN(8) {
			sql.WriteString(hides[random.IntN(len(hides))])
		}
		sql.WriteString(" ; SELECT 2")
		results, err := conn.Conn().PgConn().Exec(t.Context(), sql.String()).ReadAll()
		if err != nil {
			continue // no SQL
		}
		compared++
		statements := 0
		for _, s := range postgres.Split(sql.String(), escapes) {
			if !postgres.IsBlank(s) {
				statements++
			}
		}
		if statements != len(results) {
			t.Errorf("%q (escapes %t) is split into %q, and has %d results", sql.String(), escapes, postgres.Split(sql.String(), escapes), len(results))
		}
	}
	if compared < 500 {
		t.Errorf("only %d of the texts are SQL", compared)
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("SELECT ';'; COMMIT", false)
	f.Fuzz(func(t *testing.T, sql string, escapes bool) {
		if got := strings.Join(postgres.Split(sql, escapes), ";"); got != sql {
			t.Errorf("%q was split into %q", sql, got)
		}
	})
}
