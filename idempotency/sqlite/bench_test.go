package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/cronce/cronce/idempotency/sqlite"
	"github.com/cronce/cronce/internal/kitbench"
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
	must(b, db, `CREATE TABLE naive (name TEXT PRIMARY KEY, state TEXT NOT NULL, body BLOB)`)
	return kitbench.Engine{
		Bare: func(ctx context.Context) error { return within(ctx, writer, effect) },
		Naive: func(ctx context.Context, key string) error {
			return within(ctx, writer, func(ctx context.Context, tx sqlite.Querier) error { return naively(ctx, tx, key) })
		},
		Effect: func(ctx context.Context) error { return effect(ctx, sqlite.Tx(ctx)) },
		Store:  sqlite.New(db, sqlite.Options{}),
	}
}

func within(ctx context.Context, db *sql.DB, do func(context.Context, sqlite.Querier) error) error {
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

func effect(ctx context.Context, tx sqlite.Querier) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO effects VALUES ('paid')`)
	return err
}

func naively(ctx context.Context, tx sqlite.Querier, key string) error {
	var body []byte
	if err := tx.QueryRowContext(ctx, `SELECT body FROM naive WHERE name = ?`, key).Scan(&body); !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO naive (name, state) VALUES (?, 'running')`, key); err != nil {
		return err
	}
	if err := effect(ctx, tx); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `UPDATE naive SET state = 'done', body = 'paid' WHERE name = ?`, key)
	return err
}
