package postgres_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
)

// BenchmarkRowsInTurn compares the rules over rows with the statements, operation by operation,
// each in turn with the other. It reports the CPU of the client and that of the session of the server over
// rows relative to those of the statements: on a shared machine, wall times tell little.
func BenchmarkRowsInTurn(b *testing.B) {
	for _, jobs := range []int{1, 50, 500} {
		b.Run(fmt.Sprintf("batch=%d", jobs), func(b *testing.B) {
			fleets := []*measured{newMeasured(b, jobs, statements), newMeasured(b, jobs, postgres.OverRows)}
			for range 3 {
				for _, m := range fleets {
					m.turn(b)
				}
			}
			for _, m := range fleets {
				m.spent = map[string]spending{}
			}
			for b.Loop() {
				for _, m := range fleets {
					m.turn(b)
				}
			}
			for _, op := range []string{"admit", "extend", "record", "claim"} {
				old, now := fleets[0].spent[op], fleets[1].spent[op]
				b.ReportMetric(float64(now.client)/float64(old.client), op+"-client")
				b.ReportMetric(float64(now.server)/float64(old.server), op+"-server")
				b.ReportMetric(float64(now.wall)/float64(old.wall), op+"-wall")
				b.ReportMetric(float64(old.client.Microseconds())/float64(b.N*jobs), op+"-old-client-us/run")
				b.ReportMetric(float64(old.server.Microseconds())/float64(b.N*jobs), op+"-old-server-us/run")
			}
		})
	}
}

// measured is a fleet over one session, and what its operations cost.
type measured struct {
	*fleet
	pid   int
	spent map[string]spending
}

type spending struct{ client, server, wall time.Duration }

func newMeasured(b *testing.B, jobs int, as func(*postgres.Ledger) ledger.Store) *measured {
	m := &measured{fleet: newFleet(b, jobs, ledger.OverlapSkip), spent: map[string]spending{}}
	m.as = as
	must(b, m.Close())
	name := fmt.Sprintf("measured-%p", m)
	m.open(b, m.url, postgres.PoolSize(1), postgres.ApplicationName(name))
	p := connect(b, m.url)
	must(b, m.Ping(b.Context()))
	m.pid = pidOf(b, p, name)
	return m
}

func pidOf(b *testing.B, p *pgxpool.Pool, application string) (pid int) {
	must(b, p.QueryRow(b.Context(), `SELECT pid FROM pg_stat_activity WHERE application_name = $1`, application).Scan(&pid))
	return pid
}

// turn does each operation once.
func (m *measured) turn(b *testing.B) {
	var work []ledger.Work
	m.measure(b, "admit", func() { work = m.admit(b, true) })
	m.measure(b, "extend", func() {
		_, err := m.Extend(b.Context(), leasesOf(work), time.Minute)
		must(b, err)
	})
	m.measure(b, "record", func() { m.record(b, work) })
	m.admit(b, false)
	m.measure(b, "claim", func() {
		got, err := m.Claim(b.Context(), ledger.Claim{Owner: "p", Token: m.token(), Limit: len(m.stands), LeaseFor: time.Minute})
		must(b, err)
		work = got.Work
	})
	m.record(b, work)
}

func (m *measured) measure(b *testing.B, op string, f func()) {
	client, server, start := clientCPU(b), serverCPU(b, m.pid), time.Now()
	f()
	s := m.spent[op]
	s.wall += time.Since(start)
	s.client += clientCPU(b) - client
	s.server += serverCPU(b, m.pid) - server
	m.spent[op] = s
}

func clientCPU(b *testing.B) time.Duration {
	var u syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// serverCPU is that of a session's process on this machine.
func serverCPU(b *testing.B, pid int) (d time.Duration) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	must(b, err)
	_, err = fmt.Sscan(strings.Fields(string(text))[0], &d)
	must(b, err)
	return d
}
