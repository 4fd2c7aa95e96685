package nats_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/cronce/cronce/idempotency/nats"
)

// deaf is a consumer whose messages do not reach the server with what its
// process says of them, as behind a broken network or of a suspended process.
type deaf struct {
	jetstream.Consumer
	acked chan jetstream.Msg // what the process believes to have acknowledged
}

func (d deaf) Messages(opts ...jetstream.PullMessagesOpt) (jetstream.MessagesContext, error) {
	messages, err := d.Consumer.Messages(opts...)
	return deafMessages{messages, d.acked}, err
}

type deafMessages struct {
	jetstream.MessagesContext
	acked chan jetstream.Msg
}

func (d deafMessages) Next(opts ...jetstream.NextOpt) (jetstream.Msg, error) {
	msg, err := d.MessagesContext.Next(opts...)
	if err != nil {
		return nil, err
	}
	return deafMsg{msg, d.acked}, nil
}

type deafMsg struct {
	jetstream.Msg
	acked chan jetstream.Msg
}

func (d deafMsg) InProgress() error { return nil }
func (d deafMsg) Ack() error        { d.acked <- d.Msg; return nil }

func TestALostAckCostsADeliveryAndNoEffect(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		w.publish("ORDERS.placed", "order-1", "a")
		c := w.consumer("ORDERS", jetstream.ConsumerConfig{})
		lost := make(chan jetstream.Msg, 1)
		stop := w.consume(deaf{c, lost}, options(), w.effect)
		first := receive(t, lost, "the first acknowledgement")
		stop()
		w.lapse(first)

		w.consume(c, options(), w.effect)
		w.settled(c, 2)
		w.wantEffects(1)

		// The first one arrives after all.
		check(t, first.Ack())
		check(t, w.conn.Flush())
		w.settled(c, 2)
		w.wantEffects(1)
	})
}

// hasty is a consumer of whose AckWait its process believes that it is short.
type hasty struct{ jetstream.Consumer }

func (h hasty) Info(ctx context.Context) (*jetstream.ConsumerInfo, error) {
	info, err := h.Consumer.Info(ctx)
	if err == nil {
		info.Config.AckWait = ackWait
	}
	return info, err
}

// The first process takes the event and goes silent in the middle of its
// handler. AckWait passes, a second process gets the event and finds it in
// progress. The first one finishes; the second learns so and acknowledges.
func TestADuplicateInProgressIsHeldUntilTheFirstIsDone(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		w.publish("ORDERS.placed", "order-1", "a")
		c := w.consumer("ORDERS", jetstream.ConsumerConfig{MaxDeliver: 2})
		started, release := make(chan jetstream.Msg, 1), make(chan struct{})
		lost := make(chan jetstream.Msg, 1)
		var runs atomic.Int32
		w.consume(deaf{c, lost}, options(), func(ctx context.Context, msg jetstream.Msg) error {
			runs.Add(1)
			started <- msg
			<-release
			return w.effect(ctx, msg)
		})
		first := receive(t, started, "the first handler")

		heard := w.acks()
		w.lapse(first)
		w.consume(hasty{c}, options(), func(ctx context.Context, msg jetstream.Msg) error {
			runs.Add(1)
			return w.effect(ctx, msg)
		})
		// The second holds it, as long as the first one takes.
		for range 5 {
			await(t, heard, "+WPI")
		}
		close(release)
		await(t, heard, "+ACK")
		w.settled(c, 2)
		w.wantEffects(1)
		if runs.Load() != 1 {
			t.Errorf("the handler ran %d times, want 1", runs.Load())
		}
	})
}

// A machine may be too busy to send a heartbeat within an AckWait, and then the
// server rightly delivers again: the same is tried with a longer one.
func TestAHandlerMayTakeLongerThanAckWait(t *testing.T) {
	const longest = 64 * ackWait
	for _, tc := range []struct {
		rule string
		of   func(wait time.Duration) jetstream.ConsumerConfig
	}{
		{"AckWait", func(wait time.Duration) jetstream.ConsumerConfig { return jetstream.ConsumerConfig{AckWait: wait} }},
		{"the shortest of BackOff", func(wait time.Duration) jetstream.ConsumerConfig {
			return jetstream.ConsumerConfig{AckWait: time.Hour, MaxDeliver: 5, BackOff: []time.Duration{wait, 50 * wait}}
		}},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			onEachEngine(t, func(t *testing.T, w *world) {
				for wait := ackWait; ; wait *= 4 {
					deliveries := w.handleForTwo(wait, tc.of(wait))
					if deliveries == 1 {
						return
					}
					if t.Logf("with an AckWait of %v: %d deliveries", wait, deliveries); wait >= longest {
						t.Fatal("heartbeats do not keep the server from delivering again")
					}
				}
			})
		})
	}
}

// handleForTwo handles one event for two AckWaits, and returns how often it was
// delivered. It has one effect anyway.
func (w *world) handleForTwo(wait time.Duration, config jetstream.ConsumerConfig) uint64 {
	w.Helper()
	name := wait.String()
	config.FilterSubject = "ORDERS." + name
	w.publish(config.FilterSubject, name, name)
	c := w.consumer("ORDERS", config)
	heard, release := w.acks(), make(chan struct{})
	stop := w.consume(c, options(), func(ctx context.Context, msg jetstream.Msg) error {
		<-release
		return w.effect(ctx, msg)
	})
	for range 6 {
		await(w, heard, "+WPI")
	}
	close(release)
	await(w, heard, "+ACK")
	deliveries := w.idle(c).Delivered.Consumer
	stop()
	var effects int
	check(w, w.db.QueryRow(`SELECT count(*) FROM effects WHERE name = '`+name+`'`).Scan(&effects))
	if effects != 1 {
		w.Errorf("%d effects of an event that took two AckWaits, want 1", effects)
	}
	return deliveries
}

func TestShutdownLetsTheRunningHandlerFinish(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		w.publish("ORDERS.placed", "order-1", "a")
		w.publish("ORDERS.placed", "order-2", "b")
		c := w.consumer("ORDERS", jetstream.ConsumerConfig{})
		ctx, cancel := context.WithCancel(t.Context())
		started, release, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			ended <- nats.Consume(ctx, w.kit, c, options(), func(ctx context.Context, msg jetstream.Msg) error {
				close(started)
				<-release
				if ctx.Err() != nil {
					t.Error("the shutdown ended the handler's context")
				}
				return w.effect(ctx, msg)
			})
		}()
		receive(t, started, "the handler")
		cancel()
		select {
		case <-ended:
			t.Error("Consume returned while a handler ran")
		default:
		}
		close(release)
		check(t, receive(t, ended, "Consume to end"))
		w.wantEffects(1)

		w.consume(c, options(), w.effect)
		w.settled(c, 2) // the finished one was acknowledged, the other never fetched
		w.wantEffects(2)
	})
}

// unasked is a consumer whose client asks the server for nothing the first
// times that it is told to.
type unasked struct{ jetstream.Consumer }

func (u unasked) Messages(o ...jetstream.PullMessagesOpt) (jetstream.MessagesContext, error) {
	messages, err := u.Consumer.Messages(o...)
	return &silent{messages, 3}, err
}

type silent struct {
	jetstream.MessagesContext
	times int
}

func (s *silent) Next(o ...jetstream.NextOpt) (jetstream.Msg, error) {
	if s.times == 0 {
		return s.MessagesContext.Next(o...)
	}
	s.times--
	return nil, context.DeadlineExceeded
}

func TestAMessageThatNobodyAskedForIsAskedForAgain(t *testing.T) {
	w := newWorld(t)
	w.publish("ORDERS.placed", "order-1", "a")
	c := w.consumer("ORDERS", jetstream.ConsumerConfig{})
	w.consume(unasked{c}, options(), w.effect)
	w.settled(c, 1)
	w.wantEffects(1)
}
