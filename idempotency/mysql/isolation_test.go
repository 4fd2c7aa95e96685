package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/mysql"
	"github.com/cronce/cronce/idempotency/store"
	"github.com/cronce/cronce/internal/testdb"
)

// uncommitted is a pool whose sessions see what is not committed yet.
func uncommitted(t *testing.T, dsn string, more string) *sql.DB {
	t.Helper()
	for _, name := range []string{"transaction_isolation", "tx_isolation"} {
		db := open(t, dsn+advised+"&"+name+"=%27READ-UNCOMMITTED%27"+more)
		if db.PingContext(t.Context()) == nil {
			return db
		}
	}
	t.Fatal("the server knows the isolation by neither name")
	return nil
}

// The reply of another call may yet be rolled back: it is given to nobody,
// whatever the session would let the kit see.
func TestAReplyThatIsNotCommittedIsNotReplayed(t *testing.T) {
	for name, more := range map[string]string{"alone": "", "without autocommit": "&autocommit=0"} {
		t.Run(name, func(t *testing.T) {
			testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) {
				dsn := fresh(t)
				admin, db := open(t, dsn), uncommitted(t, dsn, more)
				migrate(t, admin)
				must(t, admin, "INSERT INTO idempotency_keys (scope, principal, `key`, request_hash, state, owner, created_at, expires_at)"+
					" VALUES ('s', '-', 'done', 'f', 'done', 'o', 1, 9999999999999)")
				other, err := admin.BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer other.Rollback()
				if _, err := other.Exec("INSERT INTO idempotency_keys (scope, principal, `key`, request_hash, state, owner, created_at, expires_at)" +
					" VALUES ('s', '-', 'k', 'f', 'done', 'o', 1, 9999999999999)"); err != nil {
					t.Fatal(err)
				}
				keys := mysql.New(db, mysql.Options{})
				stored := func(key string) *store.Record {
					status, err := keys.Lookup(t.Context(), store.Claim{MaxRun: time.Minute,
						Key: idempotency.Key{Scope: "s", Principal: "-", Value: key}})
					if err != nil {
						t.Error(err)
					}
					return status.Record
				}
				if r := stored("k"); r != nil {
					t.Errorf("it sees what is not committed: %+v", r)
				}
				if r := stored("done"); r == nil || r.State != store.StateDone {
					t.Errorf("of what is committed it sees %+v", r)
				}
				work := func(ctx context.Context) error { return effect(ctx, mysql.Tx(ctx)) }
				if _, err := kitOn(t, keys).Do(t.Context(), "s", "k", nil, work); !errors.Is(err, idempotency.ErrInProgress) {
					t.Errorf("while the other call runs: %v", err)
				}
				if err := other.Rollback(); err != nil {
					t.Fatal(err)
				}
				if again, err := kitOn(t, keys).Do(t.Context(), "s", "k", nil, work); again || err != nil {
					t.Errorf("after the other was rolled back: %t, %v", again, err)
				}
			})
		})
	}
}

// A session may show no rows of a SELECT that does not say how many it wants.
func TestASessionThatShowsNoRowsIsAnsweredAsEveryOther(t *testing.T) {
	testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) {
		dsn := fresh(t)
		db := open(t, dsn+advised+"&sql_select_limit=0")
		migrate(t, open(t, dsn))
		keys := mysql.New(db, mysql.Options{})
		claim := func(key string, sendBefore time.Time) store.Claim {
			return store.Claim{Key: idempotency.Key{Scope: "s", Principal: "-", Value: key}, Fingerprint: "f", Owner: "o",
				TTL: time.Hour, MaxRun: time.Minute, SendBefore: sendBefore}
		}
		c := claim("late", time.UnixMilli(1))
		tx, status, err := keys.Begin(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if tx.Rollback(t.Context()); !status.Held || !status.TooLate {
			t.Errorf("a call that comes too late: %+v", status)
		}
		if status, err := keys.Reserve(t.Context(), c, time.Minute, false); err != nil || !status.TooLate {
			t.Errorf("a reservation that comes too late: %+v, %v", status, err)
		}
		commits := func(ctx context.Context, key string) {
			c := claim(key, time.Time{})
			tx, _, err := keys.Begin(ctx, c)
			if err != nil {
				t.Fatal(err)
			}
			if at, err := tx.Commit(ctx, c, idempotency.Reply{}); err != nil || at.Before(time.Now().Add(30*time.Minute)) {
				t.Errorf("%s expires at %v, %v", key, at, err)
			}
		}
		commits(t.Context(), "own")
		outer, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		commits(keys.WithTx(t.Context(), outer), "joined")
		if err := outer.Rollback(); err != nil {
			t.Fatal(err)
		}
		must(t, db, `UPDATE idempotency_keys SET expires_at = 1 WHERE state = 'done'`)
		if counts, err := keys.CountExpired(t.Context(), ""); err != nil || counts["s"] != 1 {
			t.Errorf("%v have expired, %v", counts, err)
		}
	})
}

// Nor does a session without autocommit show what there was at the look-up
// before, or keep the transaction that it began for it.
func TestALookUpSeesWhatIsCommittedNow(t *testing.T) {
	testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) {
		dsn := fresh(t)
		admin, db := open(t, dsn), open(t, dsn+advised+"&autocommit=0")
		migrate(t, admin)
		db.SetMaxOpenConns(1)
		keys := mysql.New(db, mysql.Options{})
		for _, step := range []struct {
			statement string
			stored    bool
		}{
			{`DO 0`, false},
			{"INSERT INTO idempotency_keys (scope, principal, `key`, request_hash, state, owner, created_at, expires_at)" +
				" VALUES ('s', '-', 'k', 'f', 'done', 'o', 1, 9999999999999)", true},
			{`DELETE FROM idempotency_keys`, false},
		} {
			must(t, admin, step.statement)
			status, err := keys.Lookup(t.Context(), store.Claim{MaxRun: time.Minute,
				Key: idempotency.Key{Scope: "s", Principal: "-", Value: "k"}})
			if err != nil || (status.Record != nil) != step.stored {
				t.Errorf("after %s: %+v, %v", step.statement, status.Record, err)
			}
			var open int
			if err := db.QueryRow(`SELECT @@in_transaction`).Scan(&open); err == nil && open != 0 { // MySQL has no such variable
				t.Errorf("after %s a transaction is open", step.statement)
			}
		}
	})
}
