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
		for _, statement := range usual.Create("bytea") {
			must(b, p, statement)
		}
		return kitbench.Engine{
			Bare: func(ctx context.Context) error {
				return pgx.BeginFunc(ctx, p, func(tx pgx.Tx) error { return effect(ctx, tx) })
			},
			Usual: func(ctx context.Context, key, hash string) error {
				return pgx.BeginFunc(ctx, p, func(tx pgx.Tx) error { return usually(ctx, tx, key, hash) })
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

var usual = kitbench.NewUsual(true)

// usually is [kitbench.Usual.Do] on pgx.
func usually(ctx context.Context, tx pgx.Tx, key, hash string) error {
	var found string
	var status int
	var body []byte
	err := tx.QueryRow(ctx, usual.Look, key).Scan(&found, &status, &body)
	if !errors.Is(err, pgx.ErrNoRows) {
		return errors.Join(errors.New("every key is new here"), err)
	}
	created, expires := kitbench.Times()
	if _, err := tx.Exec(ctx, usual.Claim, key, hash, created, expires); err != nil {
		return err
	}
	if err := effect(ctx, tx); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, usual.Record, kitbench.Paid.Status, kitbench.Paid.Body, key)
	return err
}
