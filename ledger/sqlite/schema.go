package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/migrations"
)

var schema = migrations.Target{Engine: migrations.SQLite}

// migrate applies the pending steps. If several processes start on one file, one of
// them applies each step. The others fail, on the lock or because the tables exist
// by then, and check again.
func migrate(ctx context.Context, db *sql.DB) error {
	for wait := 10 * time.Millisecond; ; wait *= 2 {
		_, err := migrations.Up(ctx, db, schema)
		if err == nil || checkSchema(ctx, db) == nil {
			return nil
		}
		if wait > time.Second {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// checkSchema returns ledger.ErrSchema unless every step has been applied. Steps of
// a newer program are allowed: an older one may still run beside it, or replace it
// in a rollback.
func checkSchema(ctx context.Context, db *sql.DB) error {
	steps, err := migrations.Status(ctx, db, schema)
	if err != nil {
		return err
	}
	for _, s := range steps {
		if s.AppliedAt.IsZero() {
			return fmt.Errorf("%w: %s is pending: run cronce migrate up", ledger.ErrSchema, s.Name)
		}
	}
	return nil
}
