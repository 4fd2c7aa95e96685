package sqlite_test

import (
	"database/sql"
	"os"
	"testing"
)

// The log grows while a reader keeps its snapshot, and shrinks when writes go on after it.
func TestTheLogShrinksAfterALongReader(t *testing.T) {
	path := newFile(t)
	l := open(t, path, &clock{})
	write := func(megabytes int) (size int64) {
		for range megabytes {
			for _, statement := range []string{
				`CREATE TABLE IF NOT EXISTS large (x)`, `INSERT INTO large VALUES (zeroblob(1000000))`, `DELETE FROM large`,
			} {
				if err := l.Exec(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
		}
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	reader, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	tx, err := reader.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(`SELECT count(*) FROM jobs`); err != nil {
		t.Fatal(err)
	}
	if size := write(60); size < 50<<20 {
		t.Fatalf("the log has %d bytes beside a reader", size)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if size := write(5); size > 34_000_000 {
		t.Errorf("the log still has %d bytes", size)
	}
}
