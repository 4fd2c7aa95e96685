package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/mysql"
	"github.com/cronce/cronce/idempotency/store"
	"github.com/cronce/cronce/internal/testdb"
)

func kitOn(t *testing.T, s *mysql.Store) *idempotency.Kit {
	t.Helper()
	k, err := idempotency.New(s, idempotency.Options{Principal: idempotency.SinglePrincipal("x"), Wait: -1, StoreTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// Whichever statement of the kit's fails: what was done is undone, the key is
// free or tells the truth, and the pool's connection is as it was.
func TestAnErrorOfEachStatement(t *testing.T) {
	exec := func(statement string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := mysql.Tx(ctx).ExecContext(ctx, statement)
			return err
		}
	}
	nothing := func(context.Context) error { return nil }
	for _, tt := range []struct {
		name, trigger string // when a row of the table is written
		work          func(context.Context) error
		want          error
		effects       int
		then          error // asked again, without the trigger
		duplicate     bool
	}{
		{"the claim is the victim of a deadlock, once", once("INSERT", 1213), nothing, nil, 1, nil, true},
		{"the claim is refused", always("INSERT", 1644), nothing, idempotency.ErrUnavailable, 0, nil, false},
		{"the work has rolled back", "", exec(`ROLLBACK`), idempotency.ErrTxEnded, 0, idempotency.ErrTxEnded, true},
		{"the work has committed", "", exec(`COMMIT`), idempotency.ErrTxEnded, 1, idempotency.ErrTxEnded, true},
		{"the work has rolled back and begun again", "", func(ctx context.Context) error {
			return errors.Join(exec(`ROLLBACK`)(ctx), exec(`START TRANSACTION`)(ctx), exec(`INSERT INTO effects VALUES ('lost')`)(ctx))
		}, idempotency.ErrTxEnded, 0, idempotency.ErrTxEnded, true},
		{"the record is refused", always("UPDATE", 1644), nothing, idempotency.ErrUnavailable, 0, nil, false},
		{"the record is the victim of a deadlock", always("UPDATE", 1213), nothing, idempotency.ErrTxAborted, 0, nil, false},
		{"the record has no row", "", exec(`DELETE FROM idempotency_keys`), idempotency.ErrTxEnded, 0, idempotency.ErrTxEnded, true},
		{"the record's row is another's", "", exec(`UPDATE idempotency_keys SET owner = 'another'`), store.ErrLostRace, 0, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) {
				dsn := fresh(t)
				admin, db := open(t, dsn), open(t, dsn+advised)
				migrate(t, admin)
				must(t, admin, `CREATE TABLE seen (n INT) ENGINE = MyISAM`)
				db.SetMaxOpenConns(1)
				before := settings(t, db)
				if tt.trigger != "" {
					must(t, admin, tt.trigger)
				}
				k := kitOn(t, mysql.New(db, mysql.Options{}))
				do := func(work func(context.Context) error) (bool, error) {
					return k.Do(t.Context(), "s", "k", nil, func(ctx context.Context) error {
						return errors.Join(effect(ctx, mysql.Tx(ctx)), work(ctx))
					})
				}
				if _, err := do(tt.work); !errors.Is(err, tt.want) {
					t.Errorf("the call gave %v, want %v", err, tt.want)
				}
				if n := effects(t, admin); n != tt.effects {
					t.Errorf("%d effects, want %d", n, tt.effects)
				}
				asItWas(t, db, before)
				if tt.trigger != "" {
					must(t, admin, `DROP TRIGGER fails`)
				}
				if duplicate, err := do(nothing); duplicate != tt.duplicate || !errors.Is(err, tt.then) {
					t.Errorf("asked again: duplicate %t, %v, want %t, %v", duplicate, err, tt.duplicate, tt.then)
				}
				asItWas(t, db, before)
			})
		})
	}
}

// A claim that a full lock table ends is tried again, but not as fast as the server answers.
func TestAClaimPausesWhileTheLockTableIsFull(t *testing.T) {
	testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) {
		db := open(t, fresh(t)+advised)
		migrate(t, db)
		must(t, db, `CREATE TABLE seen (n INT) ENGINE = MyISAM`)
		must(t, db, `CREATE TRIGGER fails BEFORE INSERT ON idempotency_keys FOR EACH ROW
BEGIN INSERT INTO seen VALUES (1); SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1206, MESSAGE_TEXT = 'no'; END`)
		k, err := idempotency.New(mysql.New(db, mysql.Options{}),
			idempotency.Options{Principal: idempotency.SinglePrincipal("x"), StoreTimeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = k.Do(t.Context(), "s", "k", nil, func(context.Context) error { return nil }); !errors.Is(err, idempotency.ErrUnavailable) {
			t.Error(err)
		}
		var tries int
		if err := db.QueryRow(`SELECT COUNT(*) FROM seen`).Scan(&tries); err != nil || tries < 2 || tries > 300 {
			t.Errorf("%d tries, %v", tries, err)
		}
	})
}

func always(event string, code int) string {
	return fmt.Sprintf(`CREATE TRIGGER fails BEFORE %s ON idempotency_keys FOR EACH ROW
SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = %d, MESSAGE_TEXT = 'no'`, event, code)
}

// once fails the first time: what it writes to a table without transactions is
// there after the rollback.
func once(event string, code int) string {
	return fmt.Sprintf(`CREATE TRIGGER fails BEFORE %s ON idempotency_keys FOR EACH ROW
IF (SELECT COUNT(*) FROM seen) = 0 THEN
  INSERT INTO seen VALUES (1);
  SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = %d, MESSAGE_TEXT = 'no';
END IF`, event, code)
}

func effects(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	if err := db.QueryRow(`SELECT COUNT(*) FROM effects`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// asItWas: the pool's connection, or the one in its place, has its settings and
// no transaction open.
func asItWas(t *testing.T, db *sql.DB, before session) {
	t.Helper()
	after := settings(t, db)
	if after.id = before.id; after != before {
		t.Errorf("the connection has %+v, before it had %+v", after, before)
	}
	must(t, db, `SAVEPOINT probe`)
	var e *driver.MySQLError
	if _, err := db.Exec(`RELEASE SAVEPOINT probe`); !errors.As(err, &e) || e.Number != 1305 {
		t.Errorf("a savepoint stays, so a transaction is open: %v", err)
	}
}

// What a service has chosen for its sessions is not replaced.
func TestTheWorkHasTheIsolationOfTheSession(t *testing.T) {
	testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) {
		dsn := fresh(t)
		db, other := open(t, dsn+advised), open(t, dsn)
		migrate(t, other)
		db.SetMaxOpenConns(1)
		for level, sees := range map[string]int{"READ COMMITTED": 1, "REPEATABLE READ": 0} {
			must(t, db, `SET SESSION TRANSACTION ISOLATION LEVEL `+level)
			if _, err := kitOn(t, mysql.New(db, mysql.Options{})).Do(t.Context(), "s", level, nil, func(ctx context.Context) error {
				var before, after int
				count := func(into *int) error {
					return mysql.Tx(ctx).QueryRowContext(ctx, `SELECT COUNT(*) FROM effects`).Scan(into)
				}
				err := count(&before)
				must(t, other, `INSERT INTO effects VALUES ('another')`)
				err = errors.Join(err, count(&after))
				if after != before+sees {
					t.Errorf("%s: the work sees %d, and %d after another has committed one", level, before, after)
				}
				return err
			}); err != nil {
				t.Error(err)
			}
		}
	})
}

// A transaction that was handed in is its caller's: so is the id that its
// session has given a row last.
func TestTheCallersLastInsertIDStays(t *testing.T) {
	testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) {
		db := open(t, fresh(t)+advised)
		migrate(t, db)
		must(t, db, `CREATE TABLE numbered (id INT PRIMARY KEY AUTO_INCREMENT) AUTO_INCREMENT = 77`)
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.Exec(`INSERT INTO numbered VALUES ()`); err != nil {
			t.Fatal(err)
		}
		s := mysql.New(db, mysql.Options{})
		if _, err := kitOn(t, s).Do(s.WithTx(t.Context(), tx), "s", "k", nil, func(ctx context.Context) error { return effect(ctx, mysql.Tx(ctx)) }); err != nil {
			t.Fatal(err)
		}
		var id int
		if err := tx.QueryRow(`SELECT LAST_INSERT_ID()`).Scan(&id); err != nil || id != 77 {
			t.Errorf("the caller's last id is %d, %v", id, err)
		}
	})
}
