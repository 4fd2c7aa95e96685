package orm

import (
	"context"

	"github.com/cronce/cronce/examples/frameworks/orm/payments"
	"github.com/cronce/cronce/idempotency/pgsql"
)

// SQLC inserts through the generated code of package payments.
func SQLC(queries *payments.Queries) Insert {
	return func(ctx context.Context, p *Payment) (err error) {
		p.ID, err = queries.WithTx(pgsql.Tx(ctx)).InsertPayment(ctx, payments.InsertPaymentParams{Account: p.Account, Amount: p.Amount})
		return err
	}
}
