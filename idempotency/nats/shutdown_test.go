package nats_test

import (
	"context"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/cronce/cronce/idempotency/nats"
)

func TestShutdownGivesAHeldEventBackAtOnce(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		w.publish("ORDERS.placed", "order-1", "a")
		c := w.consumer("ORDERS", jetstream.ConsumerConfig{})
		w.store.down.Store(1000)
		o := options()
		o.Backoff = []time.Duration{time.Hour}
		heard := w.acks()
		asked := make(chan struct{}, 1)
		o.ID = func(m jetstream.Msg) (string, error) {
			select {
			case asked <- struct{}{}:
			default: // the event may come again before the last worker has stopped
			}
			return nats.MsgID(m)
		}
		stop := w.consume(c, o, w.effect)
		receive(t, asked, "the event")
		stop()
		await(t, heard, "-NAK")

		w.store.down.Store(0)
		w.consume(c, options(), w.effect)
		w.settled(c, 2)
		w.wantEffects(1)
	})
}

func TestShutdownDoesNotWaitForAServerThatIsGone(t *testing.T) {
	w := newWorld(t)
	c := w.consumer("ORDERS", jetstream.ConsumerConfig{})
	stop := w.consume(c, options(), w.effect)
	for waiting := 0; waiting < 1; {
		info, err := c.Info(t.Context())
		check(t, err)
		waiting = info.NumWaiting
	}
	w.halt()
	stop()
}

func TestAWorkerWhoseConsumerIsDeletedEndsThemAll(t *testing.T) {
	w := newWorld(t)
	c := w.consumer("ORDERS", jetstream.ConsumerConfig{Durable: "commission"})
	o := options()
	o.Workers = 3
	ended := make(chan error, 1)
	go func() { ended <- nats.Consume(t.Context(), w.kit, c, o, w.effect) }()
	for waiting := 0; waiting < o.Workers; {
		info, err := c.Info(t.Context())
		check(t, err)
		waiting = info.NumWaiting
	}
	check(t, w.js.DeleteConsumer(t.Context(), "ORDERS", "commission"))
	if err := receive(t, ended, "Consume to end"); err == nil {
		t.Error("Consume ended without an error though its consumer is gone")
	}
}

func TestAConnectionClosedForGoodEndsConsume(t *testing.T) {
	w := newWorld(t)
	c := w.consumer("ORDERS", jetstream.ConsumerConfig{})
	ended := make(chan error, 1)
	go func() { ended <- nats.Consume(t.Context(), w.kit, c, options(), w.effect) }()
	for waiting := 0; waiting < 1; {
		info, err := c.Info(t.Context())
		check(t, err)
		waiting = info.NumWaiting
	}
	w.conn.Close()
	if err := receive(t, ended, "Consume to end"); err == nil {
		t.Error("Consume ended without an error though its connection is closed")
	}
}

// The server goes away in the middle of a handler, and with it the
// acknowledgement or the pull request that was waiting there.
func TestAServerThatRestartsIsConsumedOn(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		w.publish("ORDERS.placed", "order-1", "a")
		c := w.consumer("ORDERS", jetstream.ConsumerConfig{Durable: "commission", AckWait: ackWait})
		started, release := make(chan struct{}, 10), make(chan struct{})
		w.consume(c, options(), func(ctx context.Context, msg jetstream.Msg) error {
			started <- struct{}{}
			<-release
			return w.effect(ctx, msg)
		})
		receive(t, started, "the handler")
		back := w.conn.StatusChanged(natsgo.CONNECTED)
		w.restart()
		close(release)
		receive(t, back, "the connection to come back")
		w.publish("ORDERS.placed", "order-2", "b")
		receive(t, started, "the second event")
		w.idle(c)
		w.wantEffects(2)
		if len(started) != 0 {
			t.Errorf("the handler ran %d times, want 2", 2+len(started))
		}
	})
}
