package postgres_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// cost is what was spent up to a moment: CPU time of this process and of all of
// PostgreSQL's, and what PostgreSQL wrote to its log.
type cost struct {
	client, server time.Duration
	log            int64 // bytes
}

func (c cost) plus(d cost) cost {
	return cost{c.client + d.client, c.server + d.server, c.log + d.log}
}

func (c cost) minus(d cost) cost {
	return cost{c.client - d.client, c.server - d.server, c.log - d.log}
}

// report adds what one of n requests cost to the benchmark's metrics.
func (c cost) report(b *testing.B, name string, n int) {
	b.ReportMetric(float64(c.client.Microseconds())/float64(n), name+"-go-µs")
	b.ReportMetric(float64(c.server.Microseconds())/float64(n), name+"-pg-µs")
	b.ReportMetric(float64(c.log)/float64(n), name+"-wal-B")
}

// meter reads the cost, of the server only where /proc tells of its processes.
type meter struct {
	pool   *pgxpool.Pool
	server int // process id of PostgreSQL's first process, which starts the others
}

func newMeter(b *testing.B, p *pgxpool.Pool) meter {
	backend := count(b, p, `SELECT pg_backend_pid()`)
	return meter{p, parent(fmt.Sprint("/proc/", backend))}
}

func (m meter) read(b *testing.B) (c cost) {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	c.client = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range processes {
		if m.server != 0 && parent(p) == m.server {
			c.server += running(p)
		}
	}
	if err := m.pool.QueryRow(context.Background(), `SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint`).Scan(&c.log); err != nil {
		b.Fatal(err)
	}
	return c
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

// running is how long a process with one thread has run.
func running(process string) time.Duration {
	var ns int64
	text, _ := os.ReadFile(process + "/schedstat")
	_, _ = fmt.Sscan(string(text), &ns)
	return time.Duration(ns)
}
