package mysql_test

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/idempotencytest"
	"github.com/cronce/cronce/idempotency/mysql"
	"github.com/cronce/cronce/internal/testdb"
)

func TestContract(t *testing.T) {
	testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) {
		contract(t, fresh, advised)
	})
}

// contract runs the contract on pools with the DSN's parameters. The cases share databases
// and connections.
func contract(t *testing.T, fresh func(testing.TB) string, parameters string) {
	made := func(t testing.TB) pools {
		dsn := fresh(t)
		migrate(t, open(t, dsn))
		return connect(t, dsn+parameters, nil)
	}
	next := testdb.Reuse(t, made, pools.empty)
	idempotencytest.Run(t, func(t *testing.T) idempotencytest.Engine { return next(t).engine(t) })
}

// The pool need not be as the package's documentation has it.
func TestContractOnAnyPool(t *testing.T) {
	testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) {
		contract(t, fresh, "")
	})
}

func TestFaults(t *testing.T) {
	testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) {
		idempotencytest.RunFaults(t, idempotencytest.Service{
			Fresh: func(t *testing.T) string {
				dsn := fresh(t)
				migrate(t, open(t, dsn))
				return dsn
			},
			Open: engineOn,
		})
	})
}

// advised are the DSN's parameters that the package's documentation advises.
const advised = "?interpolateParams=true&wait_timeout=300"

func open(t testing.TB, dsn string) *sql.DB { return openWith(t, dsn, nil) }

func openWith(t testing.TB, dsn string, f *idempotencytest.Fault) *sql.DB {
	t.Helper()
	config, err := driver.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return f.Conn(conn), nil
	}
	config.Logger = &driver.NopLogger{} // broken connections are the point of some cases
	connector, err := driver.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(8)
	t.Cleanup(func() { db.Close() })
	return db
}

func migrate(t testing.TB, db *sql.DB) {
	t.Helper()
	if err := mysql.New(db, mysql.Options{}).CreateTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	must(t, db, `CREATE TABLE effects (name VARCHAR(100))`)
}

func engine(t *testing.T, dsn string) idempotencytest.Engine {
	migrate(t, open(t, dsn))
	return engineOn(t, dsn+advised, nil)
}

func engineOn(t *testing.T, dsn string, f *idempotencytest.Fault) idempotencytest.Engine {
	return connect(t, dsn, f).engine(t)
}

// pools has the connection pools of two services on one database.
type pools struct{ one, other *sql.DB }

// connect opens pools. The fault strikes the connections of the first.
func connect(t testing.TB, dsn string, f *idempotencytest.Fault) pools {
	return pools{openWith(t, dsn, f), open(t, dsn)}
}

func (p pools) empty() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := p.other.ExecContext(ctx, `DELETE FROM idempotency_keys`)
	if err == nil {
		_, err = p.other.ExecContext(ctx, `DELETE FROM effects`)
	}
	return err
}

func (p pools) engine(t *testing.T) idempotencytest.Engine {
	db, other := p.one, p.other
	store := mysql.New(db, mysql.Options{})
	return idempotencytest.Engine{
		Store: store,
		Other: mysql.New(other, mysql.Options{}),
		Down:  mysql.New(open(t, "nobody@tcp(127.0.0.1:1)/none"), mysql.Options{}),
		Write: func(ctx context.Context, name string) error {
			_, err := mysql.Tx(ctx).ExecContext(ctx, `INSERT INTO effects VALUES (?)`, name)
			return err
		},
		Written: func(name string) (n int) {
			if err := other.QueryRow(`SELECT COUNT(*) FROM effects WHERE name = ?`, name).Scan(&n); err != nil {
				t.Error(err)
			}
			return n
		},
		Age: func(k idempotency.Key, by time.Duration) {
			ms := by.Milliseconds()
			must(t, other, "UPDATE idempotency_keys SET expires_at = expires_at - ?, locked_until = locked_until - ?, created_at = created_at - ?"+
				" WHERE scope = ? AND principal = ? AND `key` = ?", ms, ms, ms, k.Scope, k.Principal, k.Value)
		},
		Kill: func(ctx context.Context) {
			var id int64
			if err := mysql.Tx(ctx).QueryRowContext(ctx, `SELECT CONNECTION_ID()`).Scan(&id); err != nil {
				t.Error(err)
			}
			must(t, other, fmt.Sprintf(`KILL %d`, id)) // MySQL takes no parameter here
		},
		End: func(ctx context.Context, commit bool) error {
			_, err := mysql.Tx(ctx).ExecContext(ctx, map[bool]string{true: `COMMIT`, false: `ROLLBACK`}[commit])
			return err
		},
		CommitAndBegin: func(ctx context.Context) error {
			_, err := mysql.Tx(ctx).ExecContext(ctx, `COMMIT AND CHAIN`)
			return err
		},
		InTx: func(commit bool, fn func(context.Context) error) error {
			tx, err := db.BeginTx(t.Context(), nil)
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

func must(t testing.TB, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatal(err)
	}
}
