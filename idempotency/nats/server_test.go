package nats_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/nats"
	"github.com/cronce/cronce/idempotency/pgsql"
	"github.com/cronce/cronce/idempotency/postgres"
	"github.com/cronce/cronce/idempotency/sqlite"
	"github.com/cronce/cronce/idempotency/store"
	"github.com/cronce/cronce/internal/testdb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	// ackWait is for events that are to come again by it. A busy machine may
	// take as long for anything, so they may come again more than once.
	ackWait = 200 * time.Millisecond
	maxWait = 30 * time.Second
)

// world is a NATS server with one stream, and a service with its database.
type world struct {
	*testing.T
	conn *natsgo.Conn
	js   jetstream.JetStream
	database
	store *fallible
	kit   *idempotency.Kit
	// halt stops the NATS server; restart starts it again on its files and port.
	halt, restart func()
}

// fallible is a store that is down for a number of calls.
type fallible struct {
	store.Store
	down  atomic.Int32
	asked atomic.Int32
}

func (f *fallible) Begin(ctx context.Context, c store.Claim) (store.Tx, store.KeyStatus, error) {
	f.asked.Add(1)
	if f.down.Add(-1) >= 0 {
		return nil, store.KeyStatus{}, fmt.Errorf("%w: out for lunch", idempotency.ErrUnavailable)
	}
	return f.Store.Begin(ctx, c)
}

// database is a service's, with the keys' table and a table of effects.
type database struct {
	db   *sql.DB
	keys store.Store
	// write makes the effect in the kit's transaction.
	write func(ctx context.Context, effect string) error
}

func onSQLite(t *testing.T) database {
	t.Helper()
	db, err := sqlite.Open(filepath.Join(t.TempDir(), "service.db"))
	check(t, err)
	tables(t, db, sqlite.New(db, sqlite.Options{}))
	return database{db, sqlite.New(db, sqlite.Options{}), func(ctx context.Context, effect string) error {
		_, err := sqlite.Tx(ctx).ExecContext(ctx, `INSERT INTO effects VALUES (?)`, effect)
		return err
	}}
}

func onPostgres(t *testing.T) database {
	t.Helper()
	pool, err := pgxpool.New(context.Background(), testdb.Postgres(t))
	check(t, err)
	t.Cleanup(pool.Close)
	db := stdlib.OpenDBFromPool(pool)
	tables(t, db, pgsql.New(db, pgsql.Options{}))
	return database{db, postgres.New(pool, postgres.Options{}), func(ctx context.Context, effect string) error {
		_, err := postgres.Tx(ctx).Exec(ctx, `INSERT INTO effects VALUES ($1)`, effect)
		return err
	}}
}

func tables(t *testing.T, db *sql.DB, store interface{ CreateTable(context.Context) error }) {
	t.Helper()
	t.Cleanup(func() { db.Close() })
	check(t, store.CreateTable(t.Context()))
	_, err := db.Exec(`CREATE TABLE effects (name TEXT)`)
	check(t, err)
}

// onEachEngine runs what depends on how keys are locked on an engine that has
// one writer at a time, and on one that has many.
func onEachEngine(t *testing.T, test func(*testing.T, *world)) {
	t.Run("SQLite", func(t *testing.T) { test(t, newWorldOn(t, onSQLite(t))) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, newWorldOn(t, onPostgres(t))) })
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOn(t, onSQLite(t))
}

func newWorldOn(t *testing.T, on database) *world {
	t.Helper()
	files := t.TempDir()
	s := startServer(t, files, server.RANDOM_PORT)
	halt := func() { s.Shutdown(); s.WaitForShutdown() }
	t.Cleanup(func() { halt() })
	conn, err := natsgo.Connect(s.ClientURL(), natsgo.Timeout(maxWait), natsgo.ReconnectWait(20*time.Millisecond), natsgo.MaxReconnects(-1))
	check(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(maxWait))
	check(t, err)

	store := &fallible{Store: on.keys}
	kit, err := idempotency.New(store, idempotency.Options{
		Principal: idempotency.SinglePrincipal("-"), Wait: 50 * time.Millisecond, StoreTimeout: time.Minute,
	})
	check(t, err)
	w := &world{T: t, conn: conn, js: js, database: on, store: store, kit: kit}
	w.halt = halt
	w.restart = func() {
		port := s.Addr().(*net.TCPAddr).Port
		halt()
		s = startServer(t, files, port)
	}
	w.stream("ORDERS")
	return w
}

func startServer(t *testing.T, files string, port int) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: files, NoLog: true, NoSigs: true})
	check(t, err)
	s.Start()
	if !s.ReadyForConnections(maxWait) {
		t.Fatal("the NATS server does not start")
	}
	return s
}

// stream makes a stream whose subjects begin with its name.
func (w *world) stream(name string) {
	w.Helper()
	_, err := w.js.CreateStream(w.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{name + ".>"}})
	check(w, err)
}

// consumer is one that the server neither forgets nor, unless c has an AckWait,
// sends an event again that takes long, however busy the machine is.
func (w *world) consumer(stream string, c jetstream.ConsumerConfig) jetstream.Consumer {
	w.Helper()
	c.InactiveThreshold = time.Hour
	if c.AckWait == 0 {
		c.AckWait = time.Hour
	}
	consumer, err := w.js.CreateConsumer(w.Context(), stream, c)
	check(w, err)
	return consumer
}

// lapse is the end of an event's AckWait: the server delivers it again.
func (w *world) lapse(msg jetstream.Msg) {
	w.Helper()
	check(w, w.conn.Publish(msg.Reply(), []byte("-NAK")))
}

func (w *world) publish(subject, id, data string) {
	w.Helper()
	_, err := w.js.Publish(w.Context(), subject, []byte(data), jetstream.WithMsgID(id))
	check(w, err)
}

// options are those of handler "commission", with short pauses.
func options() nats.Options {
	return nats.Options{Event: "order.placed.v1", Handler: "commission", Backoff: []time.Duration{10 * time.Millisecond}}
}

// consume runs Consume until stop, which waits for it.
func (w *world) consume(c jetstream.Consumer, o nats.Options, fn nats.Handler) (stop func()) {
	w.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- nats.Consume(ctx, w.kit, c, o, fn) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := receive(w, ended, "Consume to end"); err != nil {
			w.Errorf("Consume: %v", err)
		}
	}
	w.Cleanup(stop)
	return stop
}

// effect writes one row through the kit's transaction.
func (w *world) effect(ctx context.Context, msg jetstream.Msg) error {
	return w.write(ctx, string(msg.Data()))
}

func (w *world) wantEffects(want int) {
	w.Helper()
	var got int
	check(w, w.db.QueryRow(`SELECT count(*) FROM effects`).Scan(&got))
	if got != want {
		w.Errorf("%d effects, want %d", got, want)
	}
}

// acks reports what consumers tell the server, "+ACK", "-NAK" and so on.
// Subscribe before consuming.
func (w *world) acks() <-chan string {
	w.Helper()
	heard := make(chan string, 1000)
	sub, err := w.conn.Subscribe("$JS.ACK.>", func(m *natsgo.Msg) { heard <- string(m.Data) })
	check(w, err)
	check(w, w.conn.Flush())
	w.Cleanup(func() { _ = sub.Unsubscribe() })
	return heard
}

// await skips what is not wanted.
func await(t testing.TB, heard <-chan string, want string) {
	t.Helper()
	for receive(t, heard, want) != want {
	}
}

// settled waits until the consumer is idle, and compares how often it has
// delivered.
func (w *world) settled(c jetstream.Consumer, deliveries uint64) {
	w.Helper()
	if got := w.idle(c).Delivered.Consumer; got != deliveries {
		w.Errorf("%d deliveries, want %d", got, deliveries)
	}
}

// idle waits until the consumer has nothing more to deliver or to wait for.
func (w *world) idle(c jetstream.Consumer) *jetstream.ConsumerInfo {
	w.Helper()
	for deadline := time.Now().Add(maxWait); ; {
		info, err := c.Info(w.Context())
		check(w, err)
		if info.NumAckPending == 0 && info.NumPending == 0 && info.AckFloor.Consumer == info.Delivered.Consumer {
			return info
		}
		if time.Now().After(deadline) {
			w.Fatalf("the consumer does not settle: %+v", info)
		}
	}
}

func receive[T any](t testing.TB, from <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(maxWait):
		t.Fatalf("waited in vain for %s", what)
	}
	return v
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var errBroken = errors.New("broken")
