package sqlite_test

import (
	"strings"
	"testing"
)

// The error says what to do, before the first call is answered 503.
func TestReadySaysWhatIsMissing(t *testing.T) {
	for _, tt := range []struct{ name, statement, says string }{
		{"no table", `DROP TABLE idempotency_keys`, "create it with CreateTable or the migrations"},
		{"no column", `ALTER TABLE idempotency_keys RENAME COLUMN owner TO possessor`, "owner"},
		{"no busy_timeout", `PRAGMA busy_timeout = 0`, "set it to 5000"},
		{"commits that a crash may forget", `PRAGMA synchronous = NORMAL`, "set it to FULL"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			db := open(t, fresh(t))
			db.SetMaxOpenConns(1)
			must(t, db, tt.statement)
			err := kit(t, db, "").Ready(t.Context())
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, want %q in it", err, tt.says)
			}
		})
	}
	if err := kit(t, open(t, fresh(t)), "").Ready(t.Context()); err != nil {
		t.Error(err)
	}
}
