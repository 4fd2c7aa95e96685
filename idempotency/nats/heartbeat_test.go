package nats_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/nats"
	"github.com/cronce/cronce/idempotency/store"
)

// quiet is a consumer without a server: it has one message and then no more.
type quiet struct {
	jetstream.Consumer
	config jetstream.ConsumerConfig
	msg    *overheard
}

func (q quiet) Info(context.Context) (*jetstream.ConsumerInfo, error) {
	return &jetstream.ConsumerInfo{Config: q.config}, nil
}

func (q quiet) Messages(...jetstream.PullMessagesOpt) (jetstream.MessagesContext, error) {
	one := make(chan jetstream.Msg, 1)
	one <- q.msg
	return oneMessage{one, make(chan struct{}, 10)}, nil
}

type oneMessage struct {
	one  chan jetstream.Msg
	over chan struct{}
}

func (o oneMessage) Stop()  {}
func (o oneMessage) Drain() { o.over <- struct{}{} }

func (o oneMessage) Next(...jetstream.NextOpt) (jetstream.Msg, error) {
	select {
	case msg := <-o.one:
		return msg, nil
	case <-o.over:
		return nil, jetstream.ErrMsgIteratorClosed
	}
}

// overheard is a message that notes when its server is told what, and takes as long
// as slow to say the last of it.
type overheard struct {
	jetstream.Msg
	start time.Time
	slow  time.Duration
	beats []time.Duration
	last  string
	at    time.Duration
	said  func()
}

func (h *overheard) Subject() string { return "ORDERS.placed" }

func (h *overheard) Metadata() (*jetstream.MsgMetadata, error) {
	return &jetstream.MsgMetadata{NumDelivered: 1}, nil
}

func (h *overheard) InProgress() error {
	h.beats = append(h.beats, time.Since(h.start))
	return nil
}

func (h *overheard) Ack() error                       { return h.finally("+ACK") }
func (h *overheard) TermWithReason(string) error      { return h.finally("+TERM") }
func (h *overheard) NakWithDelay(time.Duration) error { return h.finally("-NAK") }

func (h *overheard) finally(word string) error {
	h.last, h.at = word, time.Since(h.start)
	time.Sleep(h.slow) // virtual
	h.said()
	return nil
}

// The server hears three times in an AckWait that an event is worked on, and
// after the last word nothing more: a heartbeat behind it would make it wait
// for another AckWait.
func TestHeartbeatsComeThriceInAnAckWaitAndEndBeforeTheLastWord(t *testing.T) {
	second, errNot := time.Second, errors.New("not kept")
	beats := func(n int) (at []time.Duration) {
		for i := range n {
			at = append(at, time.Duration(i+1)*10*second)
		}
		return at
	}
	for _, tc := range []struct {
		rule   string
		config jetstream.ConsumerConfig
		work   time.Duration // how long it takes to find out that the event is bad
		keep   time.Duration // and how long to keep it
		kept   error
		beats  []time.Duration
		last   string
	}{
		{"of its AckWait", jetstream.ConsumerConfig{AckWait: 30 * second}, 75 * second, 0, nil, beats(7), "+TERM"},
		{"of the shortest of its BackOff", jetstream.ConsumerConfig{AckWait: time.Hour, BackOff: []time.Duration{60 * second, 30 * second}}, 75 * second, 0, nil, beats(7), "+TERM"},
		{"while it is given up too", jetstream.ConsumerConfig{AckWait: 30 * second}, 5 * second, 20 * second, nil, beats(2), "+TERM"},
		{"before it is asked for again", jetstream.ConsumerConfig{AckWait: 30 * second}, 5 * second, 20 * second, errNot, beats(2), "-NAK"},
		{"quick work has none", jetstream.ConsumerConfig{AckWait: 30 * second}, second, 0, nil, nil, "+TERM"},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				tc.config.AckPolicy = jetstream.AckExplicitPolicy
				msg := &overheard{start: time.Now(), slow: time.Minute, said: stop}
				o := options()
				o.Logger = slog.New(slog.DiscardHandler)
				o.ID = func(jetstream.Msg) (string, error) { time.Sleep(tc.work); return "", errBroken } // virtual
				o.GiveUp = func(context.Context, jetstream.Msg, error) error { time.Sleep(tc.keep); return tc.kept }
				kit, err := idempotency.New(keyless{}, idempotency.Options{Principal: idempotency.SinglePrincipal("-")})
				check(t, err)
				check(t, nats.Consume(ctx, kit, quiet{config: tc.config, msg: msg}, o, func(context.Context, jetstream.Msg) error { return nil }))
				if !slices.Equal(msg.beats, tc.beats) || msg.last != tc.last || msg.at != tc.work+tc.keep {
					t.Errorf("heartbeats at %v and %s at %v, want %v and %s at %v", msg.beats, msg.last, msg.at, tc.beats, tc.last, tc.work+tc.keep)
				}
			})
		})
	}
}

// keyless is a store that no event of these tests comes to.
type keyless struct{ store.Store }

func (keyless) InTransaction(context.Context) bool { return false }
