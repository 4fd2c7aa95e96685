package pgsql_test

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/lib/pq"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/idempotencytest"
	"github.com/cronce/cronce/idempotency/pgsql"
	"github.com/cronce/cronce/internal/testdb"
)

var options = pgsql.Options{Schema: "accounting"}

// An opener opens a pool on which the fault strikes.
type opener = func(t testing.TB, url string, f *idempotencytest.Fault) *sql.DB

var drivers = map[string]opener{
	"pgx": func(t testing.TB, url string, f *idempotencytest.Fault) *sql.DB {
		config, err := pgx.ParseConfig(url)
		if err != nil {
			t.Fatal(err)
		}
		config.DialFunc = dialer{f}.DialContext
		return pool(t, stdlib.OpenDB(*config))
	},
	"pq": func(t testing.TB, url string, f *idempotencytest.Fault) *sql.DB {
		connector, err := pq.NewConnector(url)
		if err != nil {
			t.Fatal(err)
		}
		connector.Dialer(dialer{f})
		return pool(t, sql.OpenDB(connector))
	},
}

func pool(t testing.TB, db *sql.DB) *sql.DB {
	db.SetMaxOpenConns(8)
	db.SetMaxIdleConns(8)
	t.Cleanup(func() { db.Close() })
	return db
}

type dialer struct{ fault *idempotencytest.Fault }

func (d dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return d.fault.Conn(conn), nil
}

func (d dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

func (d dialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}

// eachDriver runs test with each driver, on databases with the tables in them.
func eachDriver(t *testing.T, test func(t *testing.T, open opener)) {
	for name, open := range drivers {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
}

func database(t testing.TB) (url string) {
	t.Helper()
	url = testdb.Postgres(t)
	db := drivers["pgx"](t, url, nil)
	if err := pgsql.New(db, pgsql.Options{Schema: options.Schema}).CreateTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	must(t, db, `CREATE TABLE effects (name text)`)
	return url
}

func must(t testing.TB, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatal(err)
	}
}

func TestContract(t *testing.T) {
	eachDriver(t, func(t *testing.T, open opener) {
		contract(t, open, func(url string) string { return url })
	})
}

// contract runs the contract. Address changes the URL of each database. The cases share
// databases and connections: to open a connection takes the server longer than most cases.
func contract(t *testing.T, open opener, address func(url string) string) {
	fresh := func(t testing.TB) pools { return connect(t, open, address(database(t)), nil) }
	next := testdb.Reuse(t, fresh, pools.empty)
	idempotencytest.Run(t, func(t *testing.T) idempotencytest.Engine { return next(t).engine(t, open) })
}

func TestFaults(t *testing.T) {
	eachDriver(t, func(t *testing.T, open opener) {
		idempotencytest.RunFaults(t, idempotencytest.Service{
			Fresh: func(t *testing.T) string { return database(t) },
			Open: func(t *testing.T, url string, f *idempotencytest.Fault) idempotencytest.Engine {
				return connect(t, open, url, f).engine(t, open)
			},
		})
	})
}

// pools has the connection pools of two services on one database.
type pools struct{ one, other *sql.DB }

// connect opens pools. The fault strikes the connections of the first.
func connect(t testing.TB, open opener, url string, f *idempotencytest.Fault) pools {
	return pools{open(t, url, f), open(t, url, nil)}
}

func (p pools) empty() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := p.other.ExecContext(ctx, `TRUNCATE accounting.idempotency_keys, effects`)
	return err
}

func (p pools) engine(t *testing.T, open opener) idempotencytest.Engine {
	one, other := p.one, p.other
	store := pgsql.New(one, options)
	return idempotencytest.Engine{
		Store: store,
		Other: pgsql.New(other, options),
		Down:  pgsql.New(open(t, "postgres://nobody@127.0.0.1:1/none?sslmode=disable", nil), options),
		Write: func(ctx context.Context, name string) error {
			_, err := pgsql.Tx(ctx).ExecContext(ctx, `INSERT INTO effects VALUES ($1)`, name)
			return err
		},
		Written: func(name string) (n int) {
			if err := other.QueryRow(`SELECT count(*) FROM effects WHERE name = $1`, name).Scan(&n); err != nil {
				t.Error(err)
			}
			return n
		},
		Age: func(k idempotency.Key, by time.Duration) {
			must(t, other, `UPDATE accounting.idempotency_keys
				SET expires_at = expires_at - $4::interval, locked_until = locked_until - $4::interval, created_at = created_at - $4::interval
				WHERE scope = $1 AND principal = $2 AND key = $3`, k.Scope, k.Principal, k.Value, by.String())
		},
		Kill: func(ctx context.Context) {
			var pid int
			if err := pgsql.Tx(ctx).QueryRowContext(ctx, `SELECT pg_backend_pid()`).Scan(&pid); err != nil {
				t.Error(err)
			}
			_, err := other.ExecContext(ctx, `SELECT pg_terminate_backend($1, 60000)`, pid)
			if err != nil && !strings.Contains(err.Error(), "57P01") { // a pooler may give both the same session
				t.Error(err)
			}
		},
		End: func(ctx context.Context, commit bool) error {
			_, err := pgsql.Tx(ctx).ExecContext(ctx, map[bool]string{true: `COMMIT`, false: `ROLLBACK`}[commit])
			return err
		},
		CommitAndBegin: func(ctx context.Context) error {
			_, err := pgsql.Tx(ctx).ExecContext(ctx, `COMMIT AND CHAIN`)
			return err
		},
		Sleep: func(ctx context.Context, d time.Duration) error {
			_, err := pgsql.Tx(ctx).ExecContext(ctx, fmt.Sprintf(`SELECT pg_sleep(%f)`, d.Seconds()))
			return err
		},
		ReadLarge: func(ctx context.Context) error {
			_, err := pgsql.Tx(ctx).ExecContext(ctx, `SELECT repeat('x', 1000) FROM generate_series(1, 100000)`)
			return err
		},
		InTx: func(commit bool, fn func(context.Context) error) error {
			tx, err := one.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
			if err != nil {
				return err
			}
			defer tx.Rollback()
			if err := fn(store.WithTx(t.Context(), tx)); err != nil || !commit {
				return err
			}
			return tx.Commit()
		},
	}
}
