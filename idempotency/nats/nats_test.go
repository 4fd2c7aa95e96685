package nats_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/nats"
	"github.com/cronce/cronce/idempotency/sqlite"
)

func TestAnEventPublishedTwiceIsHandledOnce(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		// A second stream, since one stream drops the second of a message id for a while.
		w.stream("ARCHIVE")
		w.publish("ORDERS.placed", "order-1", `{"order":1,"total":5}`)
		w.publish("ARCHIVE.placed", "order-1", `{"total":5.0,"order":1}`)
		for _, stream := range []string{"ORDERS", "ARCHIVE"} {
			c := w.consumer(stream, jetstream.ConsumerConfig{})
			stop := w.consume(c, options(), w.effect)
			w.settled(c, 1)
			stop()
		}
		w.wantEffects(1)
	})
}

func TestTwoHandlersOfOneEventHaveAKeyEach(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		w.publish("ORDERS.placed", "order-1", "a")
		for _, handler := range []string{"commission", "mail"} {
			c := w.consumer("ORDERS", jetstream.ConsumerConfig{Durable: handler})
			o := options()
			o.Handler = handler
			stop := w.consume(c, o, w.effect)
			w.settled(c, 1)
			stop()
		}
		w.wantEffects(2)
	})
}

func TestTheIDMayComeFromAnywhere(t *testing.T) {
	fromHeader := func(m jetstream.Msg) (string, error) { return m.Headers().Get("Event-Id"), nil }
	for _, tc := range []struct {
		rule    string
		id      func(jetstream.Msg) (string, error)
		effects int
	}{
		{"a function of the message: two publications of one id are one event", fromHeader, 1},
		{"the place in the stream: each publication is an event", nats.SequenceID, 2},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			w := newWorld(t)
			for range 2 {
				_, err := w.js.PublishMsg(t.Context(), &natsgo.Msg{Subject: "ORDERS.placed", Header: natsgo.Header{"Event-Id": {"e-1"}}})
				check(t, err)
			}
			c := w.consumer("ORDERS", jetstream.ConsumerConfig{})
			o := options()
			o.ID = tc.id
			w.consume(c, o, w.effect)
			w.settled(c, 2)
			w.wantEffects(tc.effects)
		})
	}
}

func TestAFailedEventComesBackAfterAPause(t *testing.T) {
	for _, tc := range []struct {
		rule string
		fail func() error
	}{
		{"an error", func() error { return errBroken }},
		{"a panic", func() error { panic("broken") }},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			onEachEngine(t, func(t *testing.T, w *world) {
				w.publish("ORDERS.placed", "order-1", "a")
				c := w.consumer("ORDERS", jetstream.ConsumerConfig{})
				o := options()
				o.Backoff = []time.Duration{20 * time.Millisecond, 60 * time.Millisecond}
				var at []time.Time
				w.consume(c, o, func(ctx context.Context, msg jetstream.Msg) error {
					at = append(at, time.Now())
					if err := w.effect(ctx, msg); err != nil || len(at) == 4 {
						return err
					}
					return tc.fail()
				})
				w.settled(c, 4)
				w.wantEffects(1)
				for i, least := range []time.Duration{20 * time.Millisecond, 60 * time.Millisecond, 60 * time.Millisecond} {
					if pause := at[i+1].Sub(at[i]); pause < least {
						t.Errorf("delivery %d came after %v, want %v or more", i+2, pause, least)
					}
				}
			})
		})
	}
}

// An event that its handler has acknowledged does not come back, although its work was not
// committed.
func TestAHandlerCannotAcknowledgeItsEvent(t *testing.T) {
	w := newWorld(t)
	w.publish("ORDERS.placed", "order-1", "a")
	c := w.consumer("ORDERS", jetstream.ConsumerConfig{})
	deliveries := 0
	w.consume(c, options(), func(ctx context.Context, msg jetstream.Msg) error {
		if err := w.effect(ctx, msg); err != nil {
			return err
		}
		if deliveries++; deliveries > 1 {
			return nil
		}
		for name, settle := range map[string]func() error{
			"Ack": msg.Ack, "DoubleAck": func() error { return msg.DoubleAck(ctx) }, "Nak": msg.Nak, "Term": msg.Term,
			"NakWithDelay":   func() error { return msg.NakWithDelay(time.Hour) },
			"TermWithReason": func() error { return msg.TermWithReason("no") },
		} {
			if settle() == nil {
				t.Errorf("%s of the handler was sent", name)
			}
		}
		return errBroken
	})
	w.settled(c, 2)
	w.wantEffects(1)
}

func TestWhileTheStoreIsDownEventsAreHeld(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		w.publish("ORDERS.placed", "order-1", "a")
		// One delivery must do, so one that is used up would show.
		c := w.consumer("ORDERS", jetstream.ConsumerConfig{MaxDeliver: 1})
		w.store.down.Store(3)
		w.consume(c, options(), w.effect)
		w.settled(c, 1)
		w.wantEffects(1)
		if asked := w.store.asked.Load(); asked != 4 {
			t.Errorf("the store was asked %d times, want 4", asked)
		}
	})
}

func TestWorkersHandleSideBySide(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		for i := range 3 {
			w.publish("ORDERS.placed", fmt.Sprint("order-", i), "a")
		}
		c := w.consumer("ORDERS", jetstream.ConsumerConfig{})
		o := options()
		o.Workers = 3
		// SQLite has one writer, so what is side by side is what comes before it.
		var arrived atomic.Int32
		all := make(chan struct{})
		o.ID = func(m jetstream.Msg) (string, error) {
			if arrived.Add(1) == 3 {
				close(all)
			}
			<-all
			return nats.MsgID(m)
		}
		w.consume(c, o, w.effect)
		receive(t, all, "three events at once")
		w.settled(c, 3)
		w.wantEffects(3)
	})
}

func TestConsumeRefuses(t *testing.T) {
	w := newWorld(t)
	explicit := w.consumer("ORDERS", jetstream.ConsumerConfig{})
	none := w.consumer("ORDERS", jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy})
	fine := func(context.Context, jetstream.Msg) error { return nil }
	for _, tc := range []struct {
		rule string
		kit  *idempotency.Kit
		c    jetstream.Consumer
		o    nats.Options
		fn   nats.Handler
	}{
		{"no kit", nil, explicit, options(), fine},
		{"no handler", w.kit, explicit, options(), nil},
		{"no event", w.kit, explicit, nats.Options{Handler: "h"}, fine},
		{"no handler's name", w.kit, explicit, nats.Options{Event: "e"}, fine},
		{"a negative number of workers", w.kit, explicit, nats.Options{Event: "e", Handler: "h", Workers: -1}, fine},
		{"a consumer that does not acknowledge each message", w.kit, none, options(), fine},
	} {
		if err := nats.Consume(t.Context(), tc.kit, tc.c, tc.o, tc.fn); err == nil {
			t.Errorf("%s: accepted", tc.rule)
		}
	}
	tx, err := w.db.Begin()
	check(t, err)
	defer tx.Rollback()
	joined, err := idempotency.New(w.keys, idempotency.Options{Principal: idempotency.SinglePrincipal("-")})
	check(t, err)
	ctx := w.keys.(*sqlite.Store).WithTx(t.Context(), tx)
	if err := nats.Consume(ctx, joined, explicit, options(), fine); err == nil || !strings.Contains(err.Error(), "transaction of yours") {
		t.Errorf("in a transaction of the caller's: %v", err)
	}
}

// Order after a failure is the consumer's to keep.
func TestAFailedEventComesAfterLaterOnesUnlessOneIsPendingAtATime(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		for pending, want := range map[int][]string{0: {"a", "b", "a"}, 1: {"a", "a", "b"}} {
			stream := fmt.Sprint("PENDING", pending)
			w.stream(stream)
			handled := make(chan string, 3)
			o := options()
			o.Event, o.Backoff = stream, []time.Duration{300 * time.Millisecond}
			first := true
			stop := w.consume(w.consumer(stream, jetstream.ConsumerConfig{MaxAckPending: pending}), o, func(_ context.Context, msg jetstream.Msg) error {
				handled <- string(msg.Data())
				if first {
					first = false
					return errors.New("once")
				}
				return nil
			})
			w.publish(stream+".x", "1", "a")
			w.publish(stream+".x", "2", "b")
			got := []string{receive(t, handled, "1"), receive(t, handled, "2"), receive(t, handled, "3")}
			if !slices.Equal(got, want) {
				t.Errorf("MaxAckPending %d: handled %v, want %v", pending, got, want)
			}
			stop()
		}
	})
}

// stored is a message of a stream.
type stored struct {
	jetstream.Msg
	stream string
}

func (s stored) Metadata() (*jetstream.MsgMetadata, error) {
	return &jetstream.MsgMetadata{Stream: s.stream, Sequence: jetstream.SequencePair{Stream: 1 << 63}, Timestamp: time.Now()}, nil
}

func TestTheIDOfAnyStreamsMessageIsAKey(t *testing.T) {
	ids := map[string]bool{}
	for _, name := range []string{"ORDERS", "BESTÄTIGUNGEN", strings.Repeat("A", 255), strings.Repeat("A", 254) + "B"} {
		id, err := nats.SequenceID(stored{stream: name})
		check(t, err)
		if err := (idempotency.Key{Scope: "event:x", Principal: "p", Value: id}).Validate(); err != nil {
			t.Errorf("%s: %q: %v", name, id, err)
		}
		ids[strings.Split(id, "/")[0]] = true
	}
	if len(ids) != 4 {
		t.Errorf("%d names of 4 streams", len(ids))
	}
}
