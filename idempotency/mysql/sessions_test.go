package mysql_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/mysql"
	"github.com/cronce/cronce/idempotency/store"
	"github.com/cronce/cronce/internal/testdb"
)

// What a service's sessions are like is the service's: a commit is one all the
// same, of the kit's own transaction and of nothing besides.
func TestSessionsOfEveryKindCommit(t *testing.T) {
	for _, setting := range []string{"autocommit=0",
		"sql_mode=%27ORACLE%27", "sql_mode=%27ANSI%27", "sql_mode=%27%27", "sql_safe_updates=1",
		"tx_isolation=%27READ-UNCOMMITTED%27", "transaction_isolation=%27READ-UNCOMMITTED%27", "sql_select_limit=0"} {
		t.Run(setting, func(t *testing.T) {
			testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) {
				dsn := fresh(t)
				admin, db := open(t, dsn), open(t, dsn+advised+"&"+setting)
				migrate(t, admin)
				db.SetMaxOpenConns(1)
				if err := db.PingContext(t.Context()); err != nil {
					t.Skip(err) // the other engine's name
				}
				keys := mysql.New(db, mysql.Options{})
				k := kitOn(t, keys)
				for n := range 2 {
					key := fmt.Sprint(n)
					for _, again := range []bool{false, true} {
						got, err := k.Do(t.Context(), "s", key, nil, func(ctx context.Context) error { return effect(ctx, mysql.Tx(ctx)) })
						if got != again || err != nil {
							t.Errorf("Do: duplicate %t, %v, want %t", got, err, again)
						}
						if _, err := keys.Lookup(t.Context(), store.Claim{Key: idempotency.Key{Scope: "s", Principal: "-", Value: key}}); err != nil {
							t.Error(err)
						}
					}
					if _, _, err := idempotency.Call(t.Context(), k, idempotency.Operation{Scope: "call", Key: key},
						idempotency.Effect[int]{Do: func(context.Context) (int, error) { return 1, nil }}); err != nil {
						t.Error("Call:", err)
					}
					if _, err := k.Do(t.Context(), "ended", key, nil, func(ctx context.Context) error {
						_, err := mysql.Tx(ctx).ExecContext(ctx, `COMMIT AND NO CHAIN NO RELEASE`)
						return err
					}); !errors.Is(err, idempotency.ErrTxEnded) && setting != "autocommit=0" { // where another transaction has begun by itself
						t.Error("Do that ends its transaction:", err)
					}
				}
				// Seen from another session, so committed.
				var stored int
				if err := admin.QueryRow(`SELECT COUNT(*) FROM idempotency_keys WHERE state IN ('done', 'omitted')`).Scan(&stored); err != nil || stored != 6 {
					t.Errorf("%d keys are stored, %v", stored, err)
				}
				if n := effects(t, admin); n != 2 {
					t.Errorf("%d effects", n)
				}
			})
		})
	}
}

// The result of a call that was made is worth waiting for: its key's row may be
// locked for a while, such as by a backup.
func TestACompletedCallWaitsForLocksAsTheServiceDoes(t *testing.T) {
	testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) {
		dsn := fresh(t)
		db := open(t, dsn+advised+"&innodb_lock_wait_timeout=7")
		migrate(t, db)
		must(t, db, `CREATE TABLE seen (seconds INT)`)
		must(t, db, `CREATE TRIGGER notes BEFORE UPDATE ON idempotency_keys FOR EACH ROW INSERT INTO seen VALUES (@@SESSION.innodb_lock_wait_timeout)`)
		if _, _, err := idempotency.Call(t.Context(), kitOn(t, mysql.New(db, mysql.Options{})), idempotency.Operation{Scope: "s", Key: "k"},
			idempotency.Effect[int]{Do: func(context.Context) (int, error) { return 1, nil }}); err != nil {
			t.Fatal(err)
		}
		var least, rows int
		if err := db.QueryRow(`SELECT MIN(seconds), COUNT(*) FROM seen`).Scan(&least, &rows); err != nil || least != 7 || rows == 0 {
			t.Errorf("it waits %d s, want 7; %d rows, %v", least, rows, err)
		}
	})
}
