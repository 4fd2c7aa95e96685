package postgres

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqltx"
)

// rowsAt returns the rows of a database in which the table t (id, n) stands for the
// ledger's.
func rowsAt(t *testing.T, url string, options ...Option) rows {
	t.Helper()
	s := defaults(append([]Option{Schema("odd"), PoolSize(1)}, options...))
	config, err := s.config(url)
	must(t, err)
	pool, err := openSessions(t.Context(), config, s.session())
	must(t, err)
	t.Cleanup(pool.Close)
	return rows{pool}
}

func numbers(t *testing.T) string {
	t.Helper()
	url := testdb.Postgres(t)
	run(t, url, `CREATE SCHEMA odd; CREATE TABLE odd.t (id bigint PRIMARY KEY, n bigint NOT NULL); INSERT INTO odd.t VALUES (1, 0), (2, 0)`)
	return url
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run runs statements past the rows.
func run(t *testing.T, url, script string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer conn.Close(context.Background())
	results, err := conn.PgConn().Exec(t.Context(), script).ReadAll()
	must(t, err)
	if last := results[len(results)-1]; len(last.Rows) > 0 {
		return string(last.Rows[0][0])
	}
	return ""
}

func expectNumber(t *testing.T, url, want string) {
	t.Helper()
	if got := run(t, url, `SELECT string_agg(n::text, ' ' ORDER BY id) FROM odd.t`); got != want {
		t.Errorf("the rows have %s, want %s", got, want)
	}
}

func statementOf(sql string, id int64) query {
	q := query{sql: sql}
	q.args.int8(id)
	return q
}

const (
	lockNumber = `SELECT n FROM t WHERE id = $1 FOR UPDATE`
	addOne     = `UPDATE t SET n = n + 1 WHERE id = $1`
)

// write runs f over the pipeline.
func (r rows) write(ctx context.Context, f func(*tx) error) error {
	return r.Write(ctx, "count", func(t ledger.Tx) error { return f(t.(*tx)) })
}

func increment(id int64) func(*tx) error {
	return func(t *tx) error {
		if _, err := sqltx.List(t.Tx, sqltx.Number, lockNumber, id).Get(); err != nil {
			return err
		}
		t.p.add(statementOf(addOne, id))
		return nil
	}
}

// The first transaction of a session prepares its statements in the same round trips.
func TestATransactionTakesTwoRoundTrips(t *testing.T) {
	url := numbers(t)
	for name, through := range map[string]string{"direct": url, "PgBouncer": testdb.PgBouncer(t, url)} {
		t.Run(name, func(t *testing.T) {
			relay := testdb.NewRelay(t, through)
			r := rowsAt(t, relay.URL)
			must(t, retry(func() error { return r.pool.Ping(t.Context()) }))
			for _, state := range []string{"cold", "warm"} {
				before := relay.Trips()
				must(t, r.write(t.Context(), increment(1)))
				if got := relay.Trips() - before; got != 2 {
					t.Errorf("%s: %d round trips, want 2", state, got)
				}
			}
			before := relay.Trips()
			must(t, r.write(t.Context(), func(*tx) error { return nil }))
			if got := relay.Trips() - before; got != 0 {
				t.Errorf("nothing to do: %d round trips, want none", got)
			}
			must(t, r.Read(t.Context(), "count", func(tx_ ledger.Tx) error {
				_, err := sqltx.List(tx_.(*tx).Tx, sqltx.Number, `SELECT n FROM t WHERE id = $1`, 1).Get()
				return err
			}))
			if got := relay.Trips() - before; got != 1 {
				t.Errorf("a read: %d round trips, want 1", got)
			}
		})
	}
	expectNumber(t, url, "4 0")
}

// Nothing of a transaction that failed is applied, whichever statement of whichever flush
// failed, and the session can be used again.
func TestAFailedStatementAppliesNothing(t *testing.T) {
	url := numbers(t)
	r := rowsAt(t, url)
	var session int64
	pid := func(t *tx) error {
		ids, err := sqltx.List(t.Tx, sqltx.Number, `SELECT pg_backend_pid()`).Get()
		if err == nil && session != 0 && session != ids[0] {
			err = errors.New("it is another session")
		}
		session = ids[0]
		return err
	}
	must(t, r.write(t.Context(), pid))
	divide := `SELECT 1 / (n - n) FROM t WHERE id = $1`
	for name, f := range map[string]func(*tx) error{
		"in the first flush": func(t *tx) error {
			t.p.add(statementOf(divide, 1))
			t.p.add(statementOf(`UPDATE t SET n = n + 7 WHERE id = $1`, 1)) // it is not even parsed
			return t.p.flush()
		},
		"with the commit": func(t *tx) error {
			if err := increment(1)(t); err != nil {
				return err
			}
			t.p.add(statementOf(divide, 1))
			return nil
		},
		"swallowed by the caller": func(t *tx) error {
			t.p.add(statementOf(addOne, 1))
			t.p.add(statementOf(divide, 1))
			_ = t.p.flush()
			t.p.add(statementOf(addOne, 1))
			return nil
		},
		"after rows": func(t *tx) error {
			t.p.add(statementOf(addOne, 1))
			t.p.add(statementOf(`SELECT 1 / (2 - i) FROM generate_series(0, $1) i`, 5000))
			return nil
		},
		"by the caller": func(t *tx) error {
			if err := increment(1)(t); err != nil {
				return err
			}
			t.p.add(statementOf(addOne, 2))
			return errors.New("no")
		},
	} {
		if err := r.write(t.Context(), f); err == nil || errors.Is(err, ledger.ErrUnavailable) {
			t.Errorf("%s: %v, want an error that is not of availability", name, err)
		}
		must(t, r.write(t.Context(), pid))
	}
	expectNumber(t, url, "0 0")
	must(t, r.write(t.Context(), func(t *tx) error {
		t.p.add(statementOf(`UPDATE t SET n = n + 7 WHERE id = $1`, 1))
		t.p.add(statementOf(`UPDATE t SET n = n + 7 WHERE id = $1`, 2))
		return nil
	}))
	expectNumber(t, url, "7 7")
}

// Two transactions lock two rows in opposite orders. The server rolls one back, and it
// runs again.
func TestADeadlockedTransactionRunsAgain(t *testing.T) {
	url := numbers(t)
	first, second := make(chan struct{}, 9), make(chan struct{}, 9)
	both := func(r rows, a, b int64, mine, other chan struct{}) error {
		return r.write(context.Background(), func(t *tx) error {
			if err := increment(a)(t); err != nil {
				return err
			}
			if err := t.p.flush(); err != nil {
				return err
			}
			mine <- struct{}{}
			select {
			case <-other:
			case <-time.After(10 * time.Second):
			}
			other <- struct{}{}
			return increment(b)(t)
		})
	}
	done := make(chan error)
	one, other := rowsAt(t, url), rowsAt(t, url)
	go func() { done <- both(one, 1, 2, first, second) }()
	must(t, both(other, 2, 1, second, first))
	must(t, <-done)
	expectNumber(t, url, "2 2")
	if got := run(t, url, `SELECT deadlocks > 0 FROM pg_stat_database WHERE datname = current_database()`); got != "t" {
		t.Log("the transactions did not meet") // statistics may come late
	}
}

func TestALockTimeoutIsUnavailableAndLeavesTheSession(t *testing.T) {
	url := numbers(t)
	r := rowsAt(t, url, Set("lock_timeout", "50ms"))
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), `BEGIN`)
	must(t, err)
	_, err = conn.Exec(t.Context(), `UPDATE odd.t SET n = 5`)
	must(t, err)
	if err := r.write(t.Context(), increment(1)); !errors.Is(err, ledger.ErrUnavailable) || !hasCode(err, "55P03") {
		t.Errorf("error %v, want 55P03, which is unavailable", err)
	}
	_, err = conn.Exec(t.Context(), `COMMIT`)
	must(t, err)
	must(t, r.write(t.Context(), increment(1)))
	expectNumber(t, url, "6 5")
}

// What is read together is of one state, also if another transaction commits between two
// statements; the next flush sees that.
func TestAReadOfSeveralStatementsHasASnapshot(t *testing.T) {
	url := numbers(t)
	for name, through := range map[string]string{"direct": url, "PgBouncer": testdb.PgBouncer(t, url)} {
		t.Run(name, func(t *testing.T) {
			r := rowsAt(t, through)
			must(t, r.Read(t.Context(), "snapshot", func(tx_ ledger.Tx) error {
				t_ := tx_.(*tx)
				conn, err := pgx.Connect(t.Context(), url)
				must(t, err)
				defer conn.Close(t.Context())
				_, err = conn.Exec(t.Context(), `BEGIN; SELECT pg_advisory_lock(7); UPDATE odd.t SET n = n + 1`)
				must(t, err)
				ask := func() ledger.Future[[]int64] { return sqltx.List(t_.Tx, sqltx.Number, `SELECT sum(n)::bigint FROM t`) }
				first := ask()
				wait := sqltx.List(t_.Tx, sqltx.Number, `SELECT count(pg_advisory_xact_lock(7))`)
				second := ask()
				var other sync.WaitGroup
				other.Go(func() {
					for waits := false; !waits; {
						_ = conn.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)`).Scan(&waits)
					}
					_, _ = conn.Exec(t.Context(), `COMMIT; SELECT pg_advisory_unlock(7)`)
				})
				_, err = wait.Get()
				must(t, err)
				other.Wait()
				before, err := first.Get()
				must(t, err)
				same, err := second.Get()
				must(t, err)
				after := ask()
				now, err := t_.Now()
				must(t, err)
				if sums, err := after.Get(); err != nil || before[0] != same[0] || sums[0] == same[0] || now.IsZero() {
					t.Errorf("%d, then %d, then %d at %s: %v", before, same, sums, now, err)
				}
				return nil
			}))
		})
	}
}
