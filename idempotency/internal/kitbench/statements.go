package kitbench

import (
	"context"
	"database/sql"
	"errors"
)

// Querier is a transaction of an engine behind database/sql.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Effect is the work of every way, on such an engine.
func Effect(ctx context.Context, tx Querier) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO effects VALUES ('paid')`)
	return err
}

// Naively does the work once a key, as it is usually written, with a table
// naive (name, state, body).
func Naively(ctx context.Context, tx Querier, key string) error {
	var body []byte
	if err := tx.QueryRowContext(ctx, `SELECT body FROM naive WHERE name = ?`, key).Scan(&body); !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO naive (name, state) VALUES (?, 'running')`, key); err != nil {
		return err
	}
	if err := Effect(ctx, tx); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `UPDATE naive SET state = 'done', body = 'paid' WHERE name = ?`, key)
	return err
}
