package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/cronce/cronce/idempotency/internal/kitbench"
	"github.com/cronce/cronce/idempotency/sqlite"
)

// BenchmarkHandler compares handlers with and without the kit.
func BenchmarkHandler(b *testing.B) { kitbench.Handler(b, onFile) }

func BenchmarkReplay(b *testing.B) { kitbench.Replay(b, onFile(b)) }

func BenchmarkStorm(b *testing.B) { kitbench.Storm(b, onFile(b)) }

// onFile opens a file with the store's settings for all three; those without the
// kit have one connection, so that their callers wait in the process, as the
// kit's do, and not in SQLite's busy loop.
func onFile(b *testing.B) kitbench.Engine {
	path := fresh(b)
	db, writer := open(b, path), open(b, path)
	writer.SetMaxOpenConns(1)
	usual := kitbench.NewUsual(false)
	for _, statement := range usual.Create("BLOB") {
		must(b, db, statement)
	}
	return kitbench.Engine{
		Bare: func(ctx context.Context) error { return within(ctx, writer, kitbench.Effect) },
		Usual: func(ctx context.Context, key, hash string) error {
			return within(ctx, writer, func(ctx context.Context, tx kitbench.Querier) error { return usual.Do(ctx, tx, key, hash) })
		},
		Effect: func(ctx context.Context) error { return kitbench.Effect(ctx, sqlite.Tx(ctx)) },
		Store:  sqlite.New(db, sqlite.Options{}),
		Spent:  func() map[string]float64 { return kitbench.Spent(b) },
	}
}

func within(ctx context.Context, db *sql.DB, do func(context.Context, kitbench.Querier) error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		return err
	}
	err = do(ctx, conn)
	_, ended := conn.ExecContext(ctx, ending(err == nil))
	return errors.Join(err, ended)
}
