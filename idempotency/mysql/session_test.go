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
	"github.com/cronce/cronce/internal/testdb"
)

// A service's pool is the service's: what it has set for its sessions holds
// during the work and after it.
func TestAConnectionKeepsItsSessionsSettings(t *testing.T) {
	testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) {
		dsn := fresh(t)
		migrate(t, open(t, dsn))
		db := open(t, dsn+advised+"&wait_timeout=1234&innodb_lock_wait_timeout=7")
		db.SetMaxOpenConns(1)
		must(t, db, `SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE`)
		connection := settings(t, db)
		if connection.wait != 1234 || connection.lockWait != 7 || connection.isolation != "SERIALIZABLE" {
			t.Fatalf("the connection began with %+v", connection)
		}
		k, err := idempotency.New(mysql.New(db, mysql.Options{}), idempotency.Options{
			Principal: idempotency.SinglePrincipal("x"), MaxRun: 90500 * time.Millisecond, Wait: -1})
		if err != nil {
			t.Fatal(err)
		}
		no := errors.New("no")
		for _, tt := range []struct {
			name string
			use  func() error
			want error
		}{
			{"work that is committed", func() error { _, err := k.Do(t.Context(), "s", "k", nil, seesItsOwn(t)); return err }, nil},
			{"a duplicate", func() error { _, err := k.Do(t.Context(), "s", "k", nil, seesItsOwn(t)); return err }, nil},
			{"work that fails", func() error {
				_, err := k.Do(t.Context(), "s", "k2", nil, func(context.Context) error { return no })
				return err
			}, no},
			{"work that ends its transaction", func() error {
				_, err := k.Do(t.Context(), "s", "k3", nil, func(ctx context.Context) error {
					_, err := mysql.Tx(ctx).ExecContext(ctx, `COMMIT`)
					return err
				})
				return err
			}, idempotency.ErrTxEnded},
			{"a call to a vendor", func() error {
				_, _, err := idempotency.Call(t.Context(), k, idempotency.Operation{Scope: "v", Key: "k"},
					idempotency.Effect[int]{Do: func(context.Context) (int, error) { return 1, nil }})
				return err
			}, nil},
		} {
			if err := tt.use(); !errors.Is(err, tt.want) {
				t.Errorf("%s: %v", tt.name, err)
			}
			if got := settings(t, db); got != connection {
				t.Errorf("after %s the connection has %+v, before it had %+v", tt.name, got, connection)
			}
		}
	})
}

// seesItsOwn is work that may wait for locks as long as the service's
// connections do, in a session that the server ends when it falls silent.
func seesItsOwn(t *testing.T) func(context.Context) error {
	return func(ctx context.Context) error {
		var lockWait, wait int
		err := mysql.Tx(ctx).QueryRowContext(ctx, `SELECT @@SESSION.innodb_lock_wait_timeout, @@SESSION.wait_timeout`).Scan(&lockWait, &wait)
		if err == nil && (lockWait != 7 || wait != 91) {
			t.Errorf("the work waits %d s for a lock and %d s in silence, want 7 and 91", lockWait, wait)
		}
		return err
	}
}

type session struct {
	id             int64
	wait, lockWait int
	isolation      string
}

func settings(t *testing.T, db *sql.DB) (s session) {
	t.Helper()
	err := db.QueryRow(`SELECT CONNECTION_ID(), @@SESSION.wait_timeout, @@SESSION.innodb_lock_wait_timeout`).Scan(&s.id, &s.wait, &s.lockWait)
	if err == nil { // MariaDB 10.11 and MySQL 8 have no name for it in common
		err = db.QueryRow(`SHOW SESSION VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation')`).Scan(new(string), &s.isolation)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The password of a fresh account on Oracle's server is caching_sha2_password's,
// which the driver must ask the server's public key for.
func TestOpenTakesAnAccountWithAPassword(t *testing.T) {
	testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) {
		dsn := fresh(t)
		admin := open(t, dsn)
		user := fmt.Sprint("u", time.Now().UnixNano())
		must(t, admin, fmt.Sprintf(`CREATE USER '%s'@'%%' IDENTIFIED BY 'p@ss:w/rd'`, user))
		defer must(t, admin, fmt.Sprintf(`DROP USER '%s'@'%%'`, user))
		migrate(t, admin)
		address := asUser(t, dsn, user, "p@ss:w/rd")
		must(t, admin, fmt.Sprintf("GRANT SELECT, DELETE ON `%s`.* TO '%s'@'%%'", address.DBName, user))
		for _, form := range []string{address.FormatDSN(),
			fmt.Sprintf("mysql://%s:p%%40ss:w%%2Frd@%s/%s", user, address.Addr, address.DBName)} {
			s, close, err := mysql.Open(form, mysql.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.CountExpired(t.Context(), ""); err != nil {
				t.Error(err)
			}
			close()
		}
	})
}

func asUser(t *testing.T, dsn, user, password string) *driver.Config {
	t.Helper()
	config, err := driver.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.User, config.Passwd = user, password
	return config
}
