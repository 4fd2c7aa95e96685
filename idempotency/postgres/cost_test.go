package postgres_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/idempotency/internal/kitbench"
)

// meter reads what was spent up to a moment: CPU time of this process and of all
// of PostgreSQL's, the latter only where /proc tells of its processes, and what
// PostgreSQL wrote to its log.
type meter struct {
	b      *testing.B
	pool   *pgxpool.Pool
	server int // process id of PostgreSQL's first process, which starts the others
}

func newMeter(b *testing.B, p *pgxpool.Pool) meter {
	backend := count(b, p, `SELECT pg_backend_pid()`)
	return meter{b, p, parent(fmt.Sprint("/proc/", backend))}
}

func (m meter) read() map[string]float64 {
	m.b.Helper()
	var log int64
	if err := m.pool.QueryRow(context.Background(), `SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint`).Scan(&log); err != nil {
		m.b.Fatal(err)
	}
	spent := kitbench.Spent(m.b)
	spent["pg-µs"], spent["wal-B"] = float64(m.ofServer())/1000, float64(log)
	return spent
}

// ofServer is the CPU time of all of PostgreSQL's processes, in nanoseconds.
func (m meter) ofServer() (ns int64) {
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range processes {
		if m.server != 0 && parent(p) == m.server {
			ns += running(p)
		}
	}
	return ns
}

// parent is the id of the process that started the one in a directory of /proc;
// 0 when it cannot be read.
func parent(process string) (id int) {
	text, _ := os.ReadFile(process + "/stat")
	_, rest, _ := strings.Cut(string(text), ") ") // the name before may have spaces
	var state string
	_, _ = fmt.Sscan(rest, &state, &id)
	return id
}

// running is how long a process with one thread has run, in nanoseconds.
func running(process string) (ns int64) {
	text, _ := os.ReadFile(process + "/schedstat")
	_, _ = fmt.Sscan(string(text), &ns)
	return ns
}
