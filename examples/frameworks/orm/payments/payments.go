// Package payments has the form of the code that sqlc generates for
// database/sql (sql_package: "database/sql").
package payments

import (
	"context"
	"database/sql"
)

// DBTX is what an *sql.DB and an *sql.Tx have in common.
type DBTX interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
	PrepareContext(context.Context, string) (*sql.Stmt, error)
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

// Queries runs the queries on a pool or in a transaction.
type Queries struct{ db DBTX }

// New makes the queries of a pool or of a transaction.
func New(db DBTX) *Queries { return &Queries{db: db} }

// WithTx makes the same queries in a transaction.
func (q *Queries) WithTx(tx *sql.Tx) *Queries { return &Queries{db: tx} }

const insertPayment = `-- name: InsertPayment :one
INSERT INTO payments (account, amount) VALUES ($1, $2) RETURNING id
`

// InsertPaymentParams are the parameters of [Queries.InsertPayment].
type InsertPaymentParams struct {
	Account string
	Amount  int64
}

// InsertPayment stores a payment and returns its id.
func (q *Queries) InsertPayment(ctx context.Context, arg InsertPaymentParams) (int64, error) {
	row := q.db.QueryRowContext(ctx, insertPayment, arg.Account, arg.Amount)
	var id int64
	err := row.Scan(&id)
	return id, err
}
