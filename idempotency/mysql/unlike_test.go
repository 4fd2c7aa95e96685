package mysql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"

	"github.com/cronce/cronce/idempotency/mysql"
	"github.com/cronce/cronce/internal/testdb"
)

// alternating opens connections that take several statements in one message,
// and such as do not, in turn.
type alternating struct {
	driver.Connector
	others driver.Connector
	opened *int
}

func (a alternating) Connect(ctx context.Context) (driver.Conn, error) {
	if *a.opened++; *a.opened%2 == 0 {
		return a.others.Connect(ctx)
	}
	return a.Connector.Connect(ctx)
}

// A pool may have connections of two kinds, behind a proxy or by a connector of
// the service's own. What one takes the other refuses, and nothing is lost.
func TestConnectionsOfOnePoolThatAreNotAlike(t *testing.T) {
	testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) {
		dsn := fresh(t)
		migrate(t, open(t, dsn))
		opened := 0
		db := sql.OpenDB(alternating{connector(t, dsn+"?multiStatements=true"), connector(t, dsn), &opened})
		defer db.Close()
		db.SetMaxIdleConns(2)
		db.SetMaxOpenConns(2)
		store := mysql.New(db, mysql.Options{})
		mysql.Use(store, mysql.Listed)
		k := kitOn(t, store)
		var keys []string
		do := func(key string, hold func(context.Context) error) {
			if duplicate, err := k.Do(t.Context(), "s", key, nil, func(ctx context.Context) error {
				keys = append(keys, key)
				if err := effect(ctx, mysql.Tx(ctx)); err != nil {
					return err
				}
				return hold(ctx)
			}); duplicate || err != nil {
				t.Errorf("%s: duplicate %t, %v", key, duplicate, err)
			}
		}
		nothing := func(context.Context) error { return nil }
		for n := range 3 { // the outer one has a connection, so the inner one gets the other
			do(fmt.Sprint("outer", n), func(context.Context) error {
				do(fmt.Sprint("inner", n), nothing)
				return nil
			})
		}
		if want := []string{"outer0", "inner0", "outer1", "inner1", "outer2", "inner2"}; !slices.Equal(keys, want) {
			t.Errorf("the work ran for %v", keys)
		}
		var n int
		if err := db.QueryRow(`SELECT COUNT(*) FROM effects`).Scan(&n); err != nil || n != 6 {
			t.Errorf("%d effects, %v", n, err)
		}
		if mysql.Way(store) != mysql.Singly {
			t.Error("no connection of the second kind was met")
		}
	})
}

// refusing is a connection, in a wrapper as those that trace are, whose server
// refuses the first batches for a reason of the moment.
type refusing struct {
	driver.Conn
	left *int
}

type refusingConnector struct {
	driver.Connector
	left *int
}

func (r refusingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := r.Connector.Connect(ctx)
	return refusing{conn, r.left}, err
}

func (r refusing) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if *r.left > 0 && strings.Contains(query, "DO 0;DO 0") {
		*r.left--
		return nil, &mysqldriver.MySQLError{Number: 1105, Message: "not now"}
	}
	return r.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (r refusing) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return r.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func TestWhatIsRefusedForTheMomentIsTriedAgain(t *testing.T) {
	testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) {
		dsn, left := fresh(t), 2
		migrate(t, open(t, dsn))
		db := sql.OpenDB(refusingConnector{connector(t, dsn+"?multiStatements=true"), &left})
		defer db.Close()
		db.SetMaxOpenConns(1)
		store := mysql.New(db, mysql.Options{})
		for n, batched := range []bool{false, true} {
			if _, err := kitOn(t, store).Do(t.Context(), "s", fmt.Sprint(n), nil, func(ctx context.Context) error {
				return effect(ctx, mysql.Tx(ctx))
			}); err != nil {
				t.Fatal(err)
			}
			if way := mysql.Way(store); (way != mysql.Untried) != batched || way == mysql.Singly {
				t.Errorf("after call %d it goes way %v", n, way)
			}
		}
	})
}

func connector(t *testing.T, dsn string) driver.Connector {
	t.Helper()
	config, err := mysqldriver.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	c, err := mysqldriver.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
