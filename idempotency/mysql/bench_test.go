package mysql_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/cronce/cronce/idempotency/internal/kitbench"
	"github.com/cronce/cronce/idempotency/mysql"
	"github.com/cronce/cronce/internal/testdb"
)

// BenchmarkHandler compares handlers with and without the kit, on MariaDB.
func BenchmarkHandler(b *testing.B) { kitbench.Handler(b, durable(b)) }

func BenchmarkReplay(b *testing.B) { kitbench.Replay(b, durable(b)(b)) }

func BenchmarkStorm(b *testing.B) { kitbench.Storm(b, durable(b)(b)) }

// durable starts a server that syncs its commits; each engine opened is a
// database on it and a pool of 16.
func durable(b *testing.B) func(*testing.B) kitbench.Engine {
	server, databases := testdb.MariaDBServer(b), 0
	return func(b *testing.B) kitbench.Engine {
		databases++
		dsn, err := server.Create(fmt.Sprint("bench", databases))
		if err != nil {
			b.Fatal(err)
		}
		db := open(b, dsn+advised)
		db.SetMaxOpenConns(16)
		db.SetMaxIdleConns(16)
		migrate(b, db)
		usual := kitbench.NewUsual(false)
		for _, statement := range usual.Create("LONGBLOB") {
			must(b, db, statement)
		}
		return kitbench.Engine{
			Bare: func(ctx context.Context) error { return within(ctx, db, effect) },
			Usual: func(ctx context.Context, key, hash string) error {
				return within(ctx, db, func(ctx context.Context, tx kitbench.Querier) error { return usual.Do(ctx, tx, key, hash) })
			},
			Effect: func(ctx context.Context) error { return effect(ctx, mysql.Tx(ctx)) },
			Store:  mysql.New(db, mysql.Options{}),
			Spent:  spent(b, db),
		}
	}
}

func within(ctx context.Context, db *sql.DB, do func(context.Context, kitbench.Querier) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := do(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

var effect = kitbench.Effect
