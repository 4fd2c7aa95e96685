package nats_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/nats"
	"github.com/cronce/cronce/idempotency/sqlite"
)

// One handler of one event. The second delivery of the order, from another
// stream, is acknowledged without running it.
func ExampleConsume() {
	dir, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(dir)
	broker, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true})
	must(err)
	broker.Start()
	defer broker.WaitForShutdown()
	defer broker.Shutdown()
	conn, err := natsgo.Connect(broker.ClientURL(), natsgo.Timeout(time.Minute))
	must(err)
	defer conn.Close()
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(time.Minute))
	must(err)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	for _, name := range []string{"NEW", "REPUBLISHED"} {
		_, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{name + ".>"}})
		must(err)
		_, err = js.Publish(ctx, name+".order.placed", []byte(`{"order":1}`), jetstream.WithMsgID("order-1"))
		must(err)
	}

	db, err := sqlite.Open(filepath.Join(dir, "service.db"))
	must(err)
	defer db.Close()
	err = sqlite.New(db, sqlite.Options{}).CreateTable(ctx)
	must(err)
	_, err = db.ExecContext(ctx, `CREATE TABLE commissions (data TEXT)`)
	must(err)
	kit, err := idempotency.New(sqlite.New(db, sqlite.Options{}), idempotency.Options{
		Principal: idempotency.SinglePrincipal("-"), // this service has no HTTP routes
	})
	must(err)

	for _, name := range []string{"NEW", "REPUBLISHED"} {
		consumer, err := js.CreateOrUpdateConsumer(ctx, name, jetstream.ConsumerConfig{
			Durable: "commission", AckWait: 30 * time.Second, // MaxDeliver stays unlimited; see Options.MaxDeliver
		})
		must(err)
		until, enough := context.WithCancel(ctx)
		go func() {
			for { // only the example ends: a service consumes until it is stopped
				if info, err := consumer.Info(ctx); err != nil || (info.NumPending == 0 && info.NumAckPending == 0) {
					enough()
					return
				}
			}
		}()
		must(nats.Consume(until, kit, consumer, nats.Options{Event: "order.placed.v1", Handler: "commission", MaxDeliver: 10},
			func(ctx context.Context, msg jetstream.Msg) error {
				fmt.Println("handling", string(msg.Data()))
				_, err := sqlite.Tx(ctx).ExecContext(ctx, `INSERT INTO commissions VALUES (?)`, string(msg.Data()))
				return err
			}))
	}
	var commissions int
	must(db.QueryRow(`SELECT count(*) FROM commissions`).Scan(&commissions))
	fmt.Println("commissions:", commissions)
	// Output:
	// handling {"order":1}
	// commissions: 1
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
