package cleanup_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/cleanup"
	"github.com/cronce/cronce/idempotency/postgres"
	"github.com/cronce/cronce/idempotency/purge"
	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/migrations"
)

const (
	benchInserts = 2000 // a second, beside the purge
	benchWriters = 8
	benchQuiet   = 5 * time.Second
)

// BenchmarkPurge removes the expired four fifths of a table, with inserts
// beside it, in one DELETE, at full pace and at the default pace. PURGE_KEYS
// sets the number of keys. Compare within one run only, and only where the
// inserts are as quick after the purge as before it: else the machine had
// something else to do.
func BenchmarkPurge(b *testing.B) {
	n := 500_000
	if text := os.Getenv("PURGE_KEYS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	table := newSeed(b, n)
	for _, way := range []struct {
		name  string
		purge func(*bench) time.Duration
	}{
		{"one DELETE", (*bench).deleteAll},
		{"full pace", func(x *bench) time.Duration { return x.purge(purge.Pace{Share: 1}) }},
		{"default pace", func(x *bench) time.Duration { return x.purge(purge.Pace{}) }},
	} {
		b.Run(way.name, func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				x := table.copy(b)
				x.beside(func() { time.Sleep(time.Second) }) // connections, caches
				quiet := x.beside(func() { time.Sleep(benchQuiet) })
				wal := x.wal()
				var longest, took time.Duration
				b.StartTimer()
				during := x.beside(func() {
					start := time.Now()
					longest = way.purge(x)
					took = time.Since(start)
				})
				b.StopTimer()
				written := float64(x.wal()-wal) / (1 << 20)
				after := x.beside(func() { time.Sleep(benchQuiet) })
				b.ReportMetric(written, "wal-MB")
				b.ReportMetric(took.Seconds(), "purge-s")
				b.ReportMetric(float64(longest.Microseconds())/1000, "longest-ms")
				b.ReportMetric(quiet, "p99-before-ms")
				b.ReportMetric(after, "p99-after-ms")
				b.ReportMetric(during, "p99-during-ms")
				x.check(n)
			}
		})
	}
}

type bench struct {
	*testing.B
	url  string
	pool *pgxpool.Pool
}

// seed is a database with the table that every way purges a copy of.
type seed struct {
	server *pgx.Conn // to another database: one that is copied has no sessions
	url    string
	copies int
}

func newSeed(b *testing.B, n int) *seed {
	b.Helper()
	server, err := pgx.Connect(b.Context(), testdb.Postgres(b))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { server.Close(context.WithoutCancel(b.Context())) })
	s := &seed{server: server, url: testdb.Postgres(b)}
	x := newBench(b, s.url)
	defer x.pool.Close()
	text, err := migrations.PrintKeys(migrations.Postgres, "", "")
	if err != nil {
		b.Fatal(err)
	}
	x.exec(text)
	x.exec(fmt.Sprintf(`
INSERT INTO cronce.idempotency_keys (scope, principal, key, request_hash, state, response_status, response_body, owner, created_at, expires_at)
SELECT 'route:POST_/v1/' || i %% 7, 'acme', md5(i::text), md5((i + 1)::text), 'done', 200, decode(repeat('7b7d', 50), 'hex'), 'o', now(),
       CASE WHEN i %% 5 = 0 THEN now() + interval '1 day' ELSE now() - i * interval '10 milliseconds' END
FROM generate_series(1, %d) i`, n))
	x.exec(`VACUUM ANALYZE cronce.idempotency_keys`)
	x.tellSettings()
	return s
}

// copy is a new copy of the seed, on the same server.
func (s *seed) copy(b *testing.B) *bench {
	b.Helper()
	u, err := url.Parse(s.url)
	if err != nil {
		b.Fatal(err)
	}
	s.copies++
	from := strings.TrimPrefix(u.Path, "/")
	to := fmt.Sprintf("%s_%d", from, s.copies)
	if _, err := s.server.Exec(b.Context(), fmt.Sprintf(`CREATE DATABASE %q TEMPLATE %q`, to, from)); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_, _ = s.server.Exec(context.WithoutCancel(b.Context()), fmt.Sprintf(`DROP DATABASE %q`, to))
	})
	u.Path = "/" + to
	x := newBench(b, u.String())
	x.exec(`CHECKPOINT`)
	return x
}

func newBench(b *testing.B, url string) *bench {
	b.Helper()
	pool, err := pgxpool.New(b.Context(), url+poolSize(url))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pool.Close)
	return &bench{b, url, pool}
}

// tellSettings logs what of the server's settings the figures hang on.
func (x *bench) tellSettings() {
	x.Helper()
	var text string
	if err := x.pool.QueryRow(x.Context(), `
SELECT string_agg(name || ' ' || current_setting(name), ', ' ORDER BY name) FROM pg_settings
WHERE name IN ('server_version', 'fsync', 'synchronous_commit', 'full_page_writes', 'shared_buffers', 'max_wal_size', 'checkpoint_timeout')`).Scan(&text); err != nil {
		x.Fatal(err)
	}
	fmt.Println("postgres:", text) // a line of the benchmark format's, as cpu: is
}

// poolSize gives each writer a connection, and one to the DELETE.
func poolSize(url string) string {
	joint := "?"
	if strings.Contains(url, "?") {
		joint = "&"
	}
	return fmt.Sprintf("%spool_max_conns=%d", joint, benchWriters+1)
}

func (x *bench) exec(statement string) {
	x.Helper()
	if _, err := x.pool.Exec(x.Context(), statement); err != nil {
		x.Fatal(err)
	}
}

func (x *bench) wal() (bytes int64) {
	x.Helper()
	if err := x.pool.QueryRow(x.Context(), `SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint`).Scan(&bytes); err != nil {
		x.Fatal(err)
	}
	return bytes
}

// check that all that had expired is gone, and all else is there.
func (x *bench) check(n int) {
	x.Helper()
	var expired, alive int
	err := x.pool.QueryRow(x.Context(), `
SELECT count(*) FILTER (WHERE expires_at <= now()), count(*) FILTER (WHERE expires_at > now() AND scope <> 'live')
FROM cronce.idempotency_keys`).Scan(&expired, &alive)
	if err != nil || expired != 0 || alive != n/5 {
		x.Fatalf("%d expired, %d alive: %v", expired, alive, err)
	}
}

// beside inserts live keys while fn runs, and returns the inserts' 99th
// percentile in milliseconds, from when each was due.
func (x *bench) beside(fn func()) float64 {
	x.Helper()
	ctx, stop := context.WithCancel(x.Context())
	took := make([][]time.Duration, benchWriters)
	var group sync.WaitGroup
	for i := range took {
		group.Go(func() { took[i] = x.insert(ctx, i) })
	}
	fn()
	stop()
	group.Wait()
	all := slices.Concat(took...)
	slices.Sort(all)
	if len(all) == 0 {
		x.Fatal("no insert was made")
	}
	return float64(all[len(all)*99/100].Microseconds()) / 1000
}

// insert is one writer, due every benchWriters/benchInserts seconds.
func (x *bench) insert(ctx context.Context, writer int) (took []time.Duration) {
	start := time.Now()
	for i := 0; ctx.Err() == nil; i++ {
		due := start.Add(time.Duration(i) * time.Second * benchWriters / benchInserts)
		time.Sleep(time.Until(due))
		_, err := x.pool.Exec(x.Context(), `
INSERT INTO cronce.idempotency_keys (scope, principal, key, request_hash, state, response_status, response_body, owner, created_at, expires_at)
VALUES ('live', 'acme', $1, 'h', 'done', 200, '{}', 'o', now(), now() + interval '1 day')`, fmt.Sprintf("%d-%d-%d", writer, start.UnixNano(), i))
		if err != nil {
			x.Error(err)
			return took
		}
		took = append(took, time.Since(due))
	}
	return took
}

func (x *bench) deleteAll() time.Duration {
	start := time.Now()
	x.exec(`DELETE FROM cronce.idempotency_keys WHERE expires_at <= clock_timestamp()`)
	return time.Since(start)
}

func (x *bench) purge(pace purge.Pace) time.Duration {
	x.Helper()
	p := cleanup.New(ttls(x), []cleanup.Store{{Name: "db", Open: func(ctx context.Context) (purge.Store, func(), error) {
		return postgres.Open(ctx, x.url, postgres.Options{})
	}}}, nil)
	p.Pace = pace
	o := &longest{}
	p.Observer = o
	if _, err := p.Run(x.Context()); err != nil {
		x.Fatal(err)
	}
	return o.most
}

type longest struct {
	stopper
	most time.Duration
}

func (l *longest) Removed(_ string, _ map[string]int64, took time.Duration) {
	l.most = max(l.most, took)
}
