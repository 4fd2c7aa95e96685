package nats_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/nats"
)

func TestPoisonIsGivenUp(t *testing.T) {
	for _, tc := range []struct {
		rule       string
		own, max   int
		id         string
		fail       error
		deliveries uint64
	}{
		{"at the consumer's last delivery", 3, 0, "order-1", errBroken, 3},
		{"at our own last delivery of an unlimited consumer", -1, 2, "order-1", errBroken, 2},
		{"at the smaller of the two", 2, 5, "order-1", errBroken, 2},
		{"at once when its error is final", -1, 0, "order-1", idempotency.Final(errors.New("no such customer")), 1},
		{"at once when the handler says so", -1, 0, "order-1", fmt.Errorf("no such customer: %w", nats.ErrPermanent), 1},
		{"at once when the message has no id", -1, 0, "", nil, 1},
		{"at once when the id is no key", -1, 0, strings.Repeat("x", 129), nil, 1},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			w := newWorld(t)
			w.publish("ORDERS.placed", tc.id, "a")
			c := w.consumer("ORDERS", jetstream.ConsumerConfig{MaxDeliver: tc.own})
			o := options()
			o.MaxDeliver = tc.max
			given := make(chan error, 10)
			o.GiveUp = func(_ context.Context, _ jetstream.Msg, why error) error { given <- why; return nil }
			heard := w.acks()
			w.consume(c, o, func(ctx context.Context, msg jetstream.Msg) error {
				if err := w.effect(ctx, msg); err != nil {
					return err
				}
				return tc.fail
			})
			why := receive(t, given, "GiveUp")
			if tc.fail != nil && !errors.Is(why, tc.fail) {
				t.Errorf("given up because of %v, want %v", why, tc.fail)
			}
			reason := "+TERM permanent"
			if errors.Is(tc.fail, errBroken) {
				reason = "+TERM exhausted"
			}
			await(t, heard, reason)
			w.settled(c, tc.deliveries)
			w.wantEffects(0)
		})
	}
}

func TestAnEventThatNobodyKeptIsNotGivenUp(t *testing.T) {
	w := newWorld(t)
	w.publish("ORDERS.placed", "order-1", "a")
	c := w.consumer("ORDERS", jetstream.ConsumerConfig{})
	o := options()
	o.MaxDeliver = 1
	calls := 0
	o.GiveUp = func(context.Context, jetstream.Msg, error) error {
		if calls++; calls < 3 {
			return errBroken
		}
		return nil
	}
	w.consume(c, o, func(context.Context, jetstream.Msg) error { return errBroken })
	w.settled(c, 3)
}

func TestAnEventIDWithAnotherPayloadIsGivenUp(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		w.stream("ARCHIVE")
		w.publish("ORDERS.placed", "order-1", "a")
		w.publish("ARCHIVE.placed", "order-1", "b")
		first := w.consumer("ORDERS", jetstream.ConsumerConfig{})
		w.consume(first, options(), w.effect)
		w.settled(first, 1)

		second := w.consumer("ARCHIVE", jetstream.ConsumerConfig{})
		o := options()
		given := make(chan error, 10)
		o.GiveUp = func(_ context.Context, _ jetstream.Msg, why error) error { given <- why; return nil }
		w.consume(second, o, w.effect)
		if why := receive(t, given, "GiveUp"); !errors.Is(why, idempotency.ErrMismatch) {
			t.Errorf("given up because of %v, want a mismatch", why)
		}
		w.settled(second, 1)
		w.wantEffects(1)
	})
}
