package orm

import (
	"context"
	"database/sql"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/cronce/cronce/idempotency/pgsql"
)

// Bun inserts through bun. Each query takes the kit's transaction by Conn;
// without it the query runs outside of the transaction.
func Bun(db *sql.DB) Insert {
	orm := bun.NewDB(db, pgdialect.New())
	return func(ctx context.Context, p *Payment) error {
		_, err := orm.NewInsert().Model(p).Conn(pgsql.Tx(ctx)).Exec(ctx)
		return err
	}
}
