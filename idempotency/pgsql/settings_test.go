package pgsql_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/pgsql"
	"github.com/cronce/cronce/idempotency/store"
)

// A crash of the server must not forget that a vendor was called, nor who took
// a lost call over.
func TestAReservationIsOnDiskWhateverTheSessionSays(t *testing.T) {
	for set, want := range map[string]string{"off": "local", "on": "on", "remote_apply": "remote_apply"} {
		eachDriver(t, func(t *testing.T, open opener) {
			db := open(t, database(t)+"&synchronous_commit="+set, nil)
			atCommit(t, db, "synchronous_commit")
			keys := pgsql.New(db, options)
			c := store.Claim{Key: idempotency.Key{Scope: "s", Principal: "p", Value: "k"}, Fingerprint: "f", Owner: "one", TTL: time.Hour}
			_, err := keys.Reserve(t.Context(), c, time.Hour, false)
			expectSeen(t, db, err, want)
			_, err = keys.MarkUnknown(t.Context(), c)
			expectSeen(t, db, err, set) // what it loses the lease tells
			c.Owner = "two"
			_, err = keys.Reserve(t.Context(), c, time.Hour, true)
			expectSeen(t, db, err, want)
		})
	}
}

// A limit would end a commit's wait for its standby, with the work committed on
// this server alone.
func TestNoLimitOfTheWorkIsOnItsCommit(t *testing.T) {
	eachDriver(t, func(t *testing.T, open opener) {
		db := open(t, database(t), nil)
		atCommit(t, db, "statement_timeout")
		keys := pgsql.New(db, options)
		k, err := idempotency.New(keys, idempotency.Options{Principal: idempotency.SinglePrincipal("x")})
		if err != nil {
			t.Fatal(err)
		}
		_, err = k.Do(t.Context(), "s", "k", nil, func(context.Context) error { return nil })
		expectSeen(t, db, err, "0")

		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.Exec(`SET LOCAL statement_timeout = '50s'`); err != nil {
			t.Fatal(err)
		}
		_, err = k.Do(keys.WithTx(t.Context(), tx), "s", "the caller's", nil, func(context.Context) error { return nil })
		expectSeen(t, db, errors.Join(err, tx.Commit()), "50s")
	})
}

// A session's own statement_timeout must not keep the key of a process that has
// died for longer than MaxRun allows.
func TestAStatementEndsByTheSessionsLimitOrMaxRunWhicheverIsSooner(t *testing.T) {
	eachDriver(t, func(t *testing.T, open opener) {
		url := database(t)
		for set, want := range map[string]string{"0": "1min", "1h": "1min", "30s": "30s"} {
			k, err := idempotency.New(pgsql.New(open(t, url+"&statement_timeout="+set, nil), options),
				idempotency.Options{Principal: idempotency.SinglePrincipal("x"), MaxRun: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			var got string
			_, err = k.Do(t.Context(), "s", set, nil, func(ctx context.Context) error {
				return pgsql.Tx(ctx).QueryRowContext(ctx, `SHOW statement_timeout`).Scan(&got)
			})
			if err != nil || got != want {
				t.Errorf("%s: %q, %v; want %s", set, got, err, want)
			}
		}
	})
}

// atCommit has the commits that change a key's row tell a setting.
func atCommit(t *testing.T, db *sql.DB, setting string) {
	must(t, db, `CREATE TABLE seen (value text)`)
	must(t, db, `CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN INSERT INTO seen VALUES (current_setting('`+setting+`')); RETURN NULL; END $$`)
	must(t, db, `CREATE CONSTRAINT TRIGGER see AFTER INSERT OR UPDATE ON accounting.idempotency_keys
		DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION see()`)
}

func expectSeen(t *testing.T, db *sql.DB, err error, want string) {
	t.Helper()
	var got string
	if err := errors.Join(err, db.QueryRow(`DELETE FROM seen RETURNING value`).Scan(&got)); err != nil || got != want {
		t.Errorf("at the commit it is %q, %v; want %q", got, err, want)
	}
}
