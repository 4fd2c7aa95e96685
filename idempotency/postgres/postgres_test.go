package postgres_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/idempotencytest"
	"github.com/cronce/cronce/idempotency/postgres"
	"github.com/cronce/cronce/internal/testdb"
)

func TestContract(t *testing.T) { contract(t, func(url string) string { return url }) }

// contract runs the contract. Address changes the URL of each database. The cases share
// databases and connections: to open a connection takes the server longer than most cases.
func contract(t *testing.T, address func(url string) string) {
	fresh := func(t testing.TB) pools { return connect(t, address(database(t)), nil) }
	next := testdb.Reuse(t, fresh, pools.empty)
	idempotencytest.Run(t, func(t *testing.T) idempotencytest.Engine { return next(t).engine(t) })
}

// with adds a parameter to a URL.
func with(address, name, value string) string {
	u, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	query := u.Query()
	query.Set(name, value)
	u.RawQuery = query.Encode()
	return u.String()
}

// database is a fresh database with the tables in it.
func database(t testing.TB) (url string) {
	t.Helper()
	url = testdb.Postgres(t)
	migrate(t, url)
	return url
}

func migrate(t testing.TB, url string) {
	t.Helper()
	p := pool(t, url)
	if err := postgres.New(p, options).CreateTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	must(t, p, `CREATE TABLE effects (name text)`)
	p.Close() // a caller may count connections
}

var options = postgres.Options{Schema: "accounting"}

func pool(t testing.TB, url string, change ...func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 8
	for _, c := range change {
		c(config)
	}
	p, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func TestFaults(t *testing.T) {
	idempotencytest.RunFaults(t, idempotencytest.Service{
		Fresh: func(t *testing.T) string { return database(t) },
		Open:  engineOn,
	})
}

// pools has the connection pools of two services on one database.
type pools struct{ one, other *pgxpool.Pool }

// connect opens pools. The fault strikes the connections of the first.
func connect(t testing.TB, url string, f *idempotencytest.Fault) pools {
	t.Helper()
	return pools{pool(t, url, func(c *pgxpool.Config) {
		c.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return f.Conn(conn), nil
		}
	}), pool(t, url, func(c *pgxpool.Config) { delete(c.ConnConfig.RuntimeParams, readOnly) })}
}

func (p pools) empty() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := p.other.Exec(ctx, `TRUNCATE accounting.idempotency_keys, effects`)
	return err
}

func engineOn(t *testing.T, url string, f *idempotencytest.Fault) idempotencytest.Engine {
	return connect(t, url, f).engine(t)
}

func (p pools) engine(t *testing.T) idempotencytest.Engine {
	one, other := p.one, p.other
	store := postgres.New(one, options)
	down := pool(t, "postgres://nobody@127.0.0.1:1/none")
	return idempotencytest.Engine{
		Store: store,
		Other: postgres.New(other, options),
		Down:  postgres.New(down, options),
		Write: func(ctx context.Context, name string) error {
			_, err := postgres.Tx(ctx).Exec(ctx, `INSERT INTO effects VALUES ($1)`, name)
			return err
		},
		Written: func(name string) (n int) {
			if err := other.QueryRow(context.Background(), `SELECT count(*) FROM effects WHERE name = $1`, name).Scan(&n); err != nil {
				t.Error(err)
			}
			return n
		},
		Age: func(k idempotency.Key, by time.Duration) {
			must(t, other, `UPDATE accounting.idempotency_keys
				SET expires_at = expires_at - $4::interval, locked_until = locked_until - $4::interval, created_at = created_at - $4::interval
				WHERE scope = $1 AND principal = $2 AND key = $3`, k.Scope, k.Principal, k.Value, by)
		},
		Kill: func(ctx context.Context) {
			var session int // which a pooler does not tell
			if err := postgres.Tx(ctx).QueryRow(ctx, `SELECT pg_backend_pid()`).Scan(&session); err != nil {
				t.Error(err)
			}
			_, err := other.Exec(ctx, `SELECT pg_terminate_backend($1, 60000)`, session)
			if err != nil && !strings.Contains(err.Error(), "57P01") { // a pooler may give both the same session
				t.Error(err)
			}
		},
		End: func(ctx context.Context, commit bool) error {
			ending := `ROLLBACK`
			if commit {
				ending = `COMMIT`
			}
			_, err := postgres.Tx(ctx).Exec(ctx, ending)
			return err
		},
		CommitAndBegin: func(ctx context.Context) error {
			_, err := postgres.Tx(ctx).Exec(ctx, `COMMIT AND CHAIN`)
			return err
		},
		Sleep: func(ctx context.Context, d time.Duration) error {
			_, err := postgres.Tx(ctx).Exec(ctx, fmt.Sprintf(`SELECT pg_sleep(%f)`, d.Seconds()))
			return err
		},
		ReadLarge: func(ctx context.Context) error {
			_, err := postgres.Tx(ctx).Exec(ctx, `SELECT repeat('x', 1000) FROM generate_series(1, 100000)`)
			return err
		},
		InTx: func(commit bool, fn func(context.Context) error) error {
			tx, err := one.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite})
			if err != nil {
				return err
			}
			defer tx.Rollback(context.Background())
			if err := fn(store.WithTx(t.Context(), tx)); err != nil || !commit {
				return err
			}
			return tx.Commit(t.Context())
		},
	}
}

func must(t testing.TB, p *pgxpool.Pool, query string, args ...any) {
	t.Helper()
	if _, err := p.Exec(context.Background(), query, args...); err != nil {
		t.Fatal(err)
	}
}

// One key in two tables is two keys, of which neither waits for the other.
func TestTablesAreNamespaces(t *testing.T) {
	url := database(t)
	p := pool(t, url)
	for _, names := range []postgres.Options{{Schema: "billing"}, {Schema: "accounting", Table: "payment_keys"}} {
		if err := postgres.New(p, names).CreateTable(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	do := func(o postgres.Options, fn func(context.Context) error) (duplicate bool) {
		k, err := idempotency.New(postgres.New(p, o), idempotency.Options{Principal: idempotency.SinglePrincipal("x"), Wait: -1})
		if err != nil {
			t.Fatal(err)
		}
		if duplicate, err = k.Do(t.Context(), "s", "k", nil, fn); err != nil {
			t.Error(o, err)
		}
		return duplicate
	}
	nothing := func(context.Context) error { return nil }
	tables := []postgres.Options{options, {Schema: "billing"}, {Schema: "accounting", Table: "payment_keys"}}
	do(tables[0], func(context.Context) error {
		for _, o := range tables[1:] {
			if do(o, nothing) || !do(o, nothing) {
				t.Errorf("%+v is not apart from the others", o)
			}
		}
		return nil
	})
}
