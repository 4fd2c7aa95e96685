package orm

import (
	"context"
	"database/sql"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/cronce/cronce/idempotency/pgsql"
)

// openGORM opens GORM on the pool of the kit's store. SkipDefaultTransaction:
// the kit has opened the transaction of every write.
func openGORM(db *sql.DB) (*gorm.DB, error) {
	return gorm.Open(postgres.New(postgres.Config{Conn: db}), &gorm.Config{SkipDefaultTransaction: true})
}

// GORM inserts through GORM.
func GORM(db *sql.DB) (Insert, error) {
	orm, err := openGORM(db)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, p *Payment) error {
		return within(ctx, orm).Create(p).Error
	}, nil
}

// within returns a session of db whose statements run in the kit's transaction.
// The session needs a context: without one it shares the statement of db. Its
// method Transaction makes a savepoint.
func within(ctx context.Context, db *gorm.DB) *gorm.DB {
	session := db.Session(&gorm.Session{NewDB: true, Context: ctx})
	session.Statement.ConnPool = pgsql.Tx(ctx)
	return session
}
