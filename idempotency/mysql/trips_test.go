package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"github.com/cronce/cronce/idempotency/internal/roundtrips"
	"github.com/cronce/cronce/idempotency/mysql"
	"github.com/cronce/cronce/internal/testdb"
)

// counted is a pool of one connection on which each message is counted.
func counted(t *testing.T, dsn string) (*sql.DB, *roundtrips.Counter) {
	t.Helper()
	config, err := driver.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	var counter roundtrips.Counter
	config.DialFunc = counter.Dial
	connector, err := driver.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db, &counter
}

// On a pool as the documentation advises it: BEGIN, the claim, the reply and
// COMMIT on MariaDB; on MySQL a savepoint too, set and released. Before a rollback the
// server is also asked whether it ended the transaction.
func TestTheKitsRoundTrips(t *testing.T) {
	trips := map[string]struct{ call, failed, replay int64 }{
		"MariaDB": {call: 4, failed: 5, replay: 4},
		"MySQL":   {call: 6, failed: 7, replay: 4},
	}
	testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) {
		dsn := fresh(t)
		migrate(t, open(t, dsn))
		db, counter := counted(t, dsn+advised)
		want := trips["MariaDB"]
		if strings.Contains(t.Name(), "/MySQL") {
			want = trips["MySQL"]
		}
		k := kitOn(t, mysql.New(db, mysql.Options{}))
		count := func(what string, want int64, do func()) {
			before := counter.Sent()
			do()
			if got := counter.Sent() - before - 1; got != want { // 1: the work's statement
				t.Errorf("%s took %d round trips beside the work, want %d", what, got, want)
			}
		}
		pay := func(key string, fails error) func() {
			return func() {
				if _, err := k.Do(t.Context(), "s", key, nil, func(ctx context.Context) error {
					return errors.Join(effect(ctx, mysql.Tx(ctx)), fails)
				}); !errors.Is(err, fails) {
					t.Errorf("%s: %v", key, err)
				}
			}
		}
		pay("connects", nil)()
		for n := range 3 {
			count("a call", want.call, pay(fmt.Sprint("k", n), nil))
		}
		count("work that fails", want.failed, pay("fails", errors.New("no")))
		count("a replay", want.replay-1, pay("k1", nil))
	})
}
