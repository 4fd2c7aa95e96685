package mysql_test

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/mysql"
)

// countingConn counts the client's messages to the server.
type countingConn struct {
	net.Conn
	sent *atomic.Int64
}

func (c countingConn) Write(p []byte) (int, error) {
	c.sent.Add(1)
	return c.Conn.Write(p)
}

// counted is a pool of one connection on which each message is counted.
func counted(t *testing.T, dsn string) (*sql.DB, *atomic.Int64) {
	t.Helper()
	config, err := driver.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	var sent atomic.Int64
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return countingConn{conn, &sent}, err
	}
	connector, err := driver.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db, &sent
}

// BEGIN with the claim, the work's statement, the reply with COMMIT: where the
// server takes several statements in one message, as many round trips as the
// same handler has without the kit.
func TestTheKitAddsNoRoundTrip(t *testing.T) {
	trips := map[string]struct{ call, replay int64 }{
		"compound": {3, 2},
		"listed":   {3, 2},
		"singly":   {11, 7},
	}
	eachWay(t, func(t *testing.T, w way, fresh func(testing.TB) string) {
		dsn := fresh(t)
		migrate(t, open(t, dsn))
		db, sent := counted(t, dsn+w.parameters)
		store, want := w.store(db), trips[w.name]
		k := kitOn(t, store)
		count := func(what string, want int64, do func()) {
			before := sent.Load()
			do()
			if got := sent.Load() - before; got != want {
				t.Errorf("%s took %d round trips, want %d", what, got, want)
			}
		}
		pay := func(key string, again bool) func() {
			return func() {
				if got, err := k.Do(t.Context(), "s", key, nil, func(ctx context.Context) error { return effect(ctx, mysql.Tx(ctx)) }); got != again || err != nil {
					t.Errorf("%s: duplicate %t, %v", key, got, err)
				}
			}
		}
		pay("connects", false)()
		for n := range 3 {
			count("a call", want.call, pay(fmt.Sprint("k", n), false))
		}
		count("a replay", want.replay, pay("k1", true))
		look := func() {
			if look, err := store.Look(t.Context(), idempotency.Claim{Key: idempotency.Key{Scope: "s", Principal: "-", Value: "k1"}}); err != nil || look.Record == nil {
				t.Error(look, err)
			}
		}
		look() // finds out by which name the server knows a session's isolation
		count("a look", 1, look)
		// Without a statement of work, and with the question whether it is late.
		count("a call that may come too late", want.call-1+map[string]int64{"singly": 1}[w.name], func() {
			if look := heldUntil(t, store, "late"); !look.Held || look.Late {
				t.Error(look)
			}
		})
	})
}

// What a server takes is found out by the first call, which costs that one two
// messages at the most.
func TestAStoreFindsOutWhatItsServerTakes(t *testing.T) {
	for _, tt := range []struct {
		server, parameters string
		want               any
	}{
		{"MariaDB", "", mysql.Compound},
		{"MariaDB", "?multiStatements=true", mysql.Compound},
		{"MySQL", "", mysql.Singly},
		{"MySQL", "?multiStatements=true", mysql.Listed},
	} {
		t.Run(tt.server+tt.parameters, func(t *testing.T) {
			dsn := onServer[tt.server](t)
			db := open(t, dsn+tt.parameters)
			migrate(t, db)
			store := mysql.New(db, mysql.Options{})
			if _, err := kitOn(t, store).Do(t.Context(), "s", "k", nil, func(context.Context) error { return nil }); err != nil {
				t.Fatal(err)
			}
			if got := any(mysql.Way(store)); got != tt.want {
				t.Errorf("it goes way %v, want %v", got, tt.want)
			}
		})
	}
}
