package mysql_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronce/cronce/idempotency/internal/kitbench"
)

// spent reads what was spent up to a moment: CPU time of this process, and of
// the server's where /proc tells of it.
func spent(b *testing.B, db *sql.DB) func() map[string]float64 {
	var dir, file string
	if err := db.QueryRow(`SELECT @@datadir, @@pid_file`).Scan(&dir, &file); err != nil {
		b.Fatal(err)
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	id, _ := os.ReadFile(file)
	process := "/proc/" + strings.TrimSpace(string(id))
	return func() map[string]float64 {
		spent := kitbench.Spent(b)
		spent["db-µs"] = float64(ticks(process)) * 10_000 // a tick is a hundredth of a second
		return spent
	}
}

// ticks is how long a process has run, of all its threads.
func ticks(process string) int64 {
	text, _ := os.ReadFile(process + "/stat")
	_, rest, _ := strings.Cut(string(text), ") ") // the name before may have spaces
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	var user, system int64
	_, _ = fmt.Sscan(fields[11]+" "+fields[12], &user, &system)
	return user + system
}
