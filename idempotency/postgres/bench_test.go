package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/idempotency/internal/kitbench"
	"github.com/cronce/cronce/idempotency/postgres"
	"github.com/cronce/cronce/internal/testdb"
)

// BenchmarkHandler compares handlers with and without the kit, and reads what
// their requests cost.
func BenchmarkHandler(b *testing.B) { kitbench.Handler(b, durable(b)) }

// BenchmarkHandlerOverNetwork is BenchmarkHandler with 1 ms to the database and
// back.
func BenchmarkHandlerOverNetwork(b *testing.B) {
	kitbench.Handler(b, durable(b, func(c *pgxpool.Config) {
		c.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			return distant{conn}, err
		}
	}))
}

// distant is a connection on which everything said takes 1 ms to come back.
type distant struct{ net.Conn }

func (c distant) Write(p []byte) (int, error) {
	time.Sleep(time.Millisecond)
	return c.Conn.Write(p)
}

func BenchmarkReplay(b *testing.B) { kitbench.Replay(b, durable(b)(b)) }

func BenchmarkStorm(b *testing.B) { kitbench.Storm(b, durable(b)(b)) }

// durable starts a server that syncs its commits; each engine opened is a
// database on it and a pool of 16.
func durable(b *testing.B, change ...func(*pgxpool.Config)) func(*testing.B) kitbench.Engine {
	server, databases := testdb.PostgresServer(b), 0
	return func(b *testing.B) kitbench.Engine {
		databases++
		url, err := server.Create(fmt.Sprint("bench", databases))
		if err != nil {
			b.Fatal(err)
		}
		migrate(b, url)
		p := pool(b, url, append(change, func(c *pgxpool.Config) { c.MaxConns = 16 })...)
		must(b, p, `CREATE TABLE naive (key text PRIMARY KEY, state text NOT NULL, body bytea)`)
		return kitbench.Engine{
			Bare: func(ctx context.Context) error {
				return pgx.BeginFunc(ctx, p, func(tx pgx.Tx) error { return effect(ctx, tx) })
			},
			Naive: func(ctx context.Context, key string) error {
				return pgx.BeginFunc(ctx, p, func(tx pgx.Tx) error { return naively(ctx, tx, key) })
			},
			Effect: func(ctx context.Context) error { return effect(ctx, postgres.Tx(ctx)) },
			Store:  postgres.New(p, options),
			Spent:  newMeter(b, p).read,
		}
	}
}

func effect(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `INSERT INTO effects VALUES ('paid')`)
	return err
}

func naively(ctx context.Context, tx pgx.Tx, key string) error {
	var body []byte
	if err := tx.QueryRow(ctx, `SELECT body FROM naive WHERE key = $1`, key).Scan(&body); !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	if _, err := tx.Exec(ctx, `INSERT INTO naive (key, state) VALUES ($1, 'running')`, key); err != nil {
		return err
	}
	if err := effect(ctx, tx); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE naive SET state = 'done', body = 'paid' WHERE key = $1`, key)
	return err
}
