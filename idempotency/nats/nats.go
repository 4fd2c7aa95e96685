// Package nats handles each event of a NATS JetStream consumer once, however often it is
// delivered.
//
// JetStream delivers an event again if an acknowledgement was late or lost, if a process
// died, or if a publisher repeated the event after the stream's duplicate window.
// [Consume] runs each delivery through [idempotency.Do]. So the handler's writes and the
// event's key are one transaction, and a delivery of a handled event is only acknowledged.
//
// The key is the event's ID (the header Nats-Msg-Id, or [Options.ID]). Its scope has the
// names of the event and of the handler, so two handlers of one event have a key each. Its
// TTL must be longer than the time in which an event can be delivered or published again.
package nats

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/cronce/cronce/idempotency"
)

// ErrPermanent reports that an event can never be handled. A handler returns an error
// that wraps it to give the event up without another delivery.
var ErrPermanent = errors.New("the event cannot be handled")

// Handler handles one event, through the transaction of its context, such as
// postgres.Tx(ctx). An error or a panic rolls the work back, and the event is delivered
// again. The context outlives a shutdown and ends after the kit's MaxRun.
type Handler func(context.Context, jetstream.Msg) error

// Options configure [Consume]. Event and Handler are required.
type Options struct {
	// Event is what happened, such as "order.placed.v1".
	Event string
	// Handler is who handles it, such as "commission". Renaming it makes every
	// event new to it.
	Handler string
	// ID names the event; the same for every delivery and every publication
	// of it, 1 to 128 characters. Default [MsgID]. An error gives the event up.
	ID func(jetstream.Msg) (string, error)
	// Payload is what must be the same whenever the id is; default the
	// message's data, compared by its meaning when it is JSON. A publisher that
	// puts the time of publication into it needs a function that leaves it out.
	Payload func(jetstream.Msg) any
	// TTL overrides the kit's TTL for [idempotency.EventScope](Event, Handler).
	TTL time.Duration

	// Workers is the number of events that are handled at once; default 1, in the
	// stream's order. An event that failed comes again after later ones, unless the
	// consumer's MaxAckPending is 1. No event is fetched before a worker is free for it.
	Workers int
	// Backoff is the pause after each failed delivery, the last one repeated;
	// default 500ms, 2s, 5s, 30s. Each is lengthened at random, by up to a quarter.
	Backoff []time.Duration
	// MaxDeliver gives an event up when the handler fails at this delivery or
	// a later one; default the consumer's. A consumer's own MaxDeliver also
	// counts deliveries that a crash or a shutdown ended, and drops the event
	// without telling GiveUp, so leave that one unlimited, or larger.
	MaxDeliver int
	// GiveUp is called before an event is terminated, for example to store it for
	// an operator. Its context ends after 30 s. If it fails the event is delivered
	// again instead. It may be called twice for one event.
	GiveUp func(ctx context.Context, msg jetstream.Msg, why error) error
	// Logger logs every failure; default slog.Default().
	Logger *slog.Logger
}

// MsgID returns the publisher's id of a message, its header Nats-Msg-Id.
func MsgID(msg jetstream.Msg) (string, error) {
	id := msg.Headers().Get(natsgo.MsgIdHdr)
	if id == "" {
		return "", errors.New("the message has no Nats-Msg-Id: publish with jetstream.WithMsgID, or set Options.ID")
	}
	return id, nil
}

// maxStreamName is the length up to which a stream's name fits into a key beside the numbers.
const maxStreamName = 64

// SequenceID returns an id made of a message's sequence number in the stream and the
// time at which it was stored: the same for every delivery, a new one for every
// publication. It is for publishers that give their events no id. The name of a stream that no
// key can have, since it is long or has other characters than printable ASCII, is hashed.
func SequenceID(msg jetstream.Msg) (string, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return "", err
	}
	name := meta.Stream
	if len(name) > maxStreamName || strings.ContainsFunc(name, func(r rune) bool { return r < '!' || r > '~' }) {
		name = fmt.Sprintf("%x", sha256.Sum256([]byte(name)))
	}
	return fmt.Sprintf("%s/%d@%d", name, meta.Sequence.Stream, meta.Timestamp.UnixNano()), nil
}

// Consume handles the events of a pull consumer with explicit acknowledgement
// until ctx ends, and then returns nil when the last handler has finished, at
// most MaxRun and a second later. Any other return is an error: the consumer
// was deleted, or the connection closed for good.
//
// While a handler runs, the server is told so often enough that a handler
// may take longer than the consumer's AckWait. While the kit cannot tell
// whether an event was handled (another delivery of it is being handled, the
// key store is down) the event is held and asked about again, which uses up no
// delivery.
//
// Consume does not wait for acknowledgements; one that is lost causes a further
// delivery, which changes nothing. Drain the connection after Consume to send the
// last ones.
func Consume(ctx context.Context, kit *idempotency.Kit, consumer jetstream.Consumer, o Options, fn Handler) error {
	if err := o.complete(kit, fn); err != nil {
		return err
	}
	if kit.InTransaction(ctx) {
		return errors.New("nats: the context carries a transaction of yours, which commits after the events are acknowledged: call " +
			"Consume without it")
	}
	info, err := consumer.Info(ctx)
	if err != nil {
		return fmt.Errorf("nats: ask for the consumer's configuration: %w", err)
	}
	l, err := newLoop(kit, info.Config, o, fn)
	if err != nil {
		return err
	}
	return l.run(ctx, consumer)
}

func (o *Options) complete(kit *idempotency.Kit, fn Handler) error {
	if kit == nil || fn == nil {
		return errors.New("nats: Consume needs a kit and a handler")
	}
	if o.Event == "" || o.Handler == "" {
		return errors.New("nats: Options.Event and Options.Handler are required: two handlers of one event must not share its key")
	}
	if o.Workers < 0 || o.MaxDeliver < 0 {
		return errors.New("nats: Options.Workers and Options.MaxDeliver must not be negative")
	}
	if o.ID == nil {
		o.ID = MsgID
	}
	if o.Payload == nil {
		o.Payload = func(msg jetstream.Msg) any { return msg.Data() }
	}
	if len(o.Backoff) == 0 {
		o.Backoff = []time.Duration{500 * time.Millisecond, 2 * time.Second, 5 * time.Second, 30 * time.Second}
	}
	if o.GiveUp == nil {
		o.GiveUp = func(context.Context, jetstream.Msg, error) error { return nil }
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.Workers = max(o.Workers, 1)
	return nil
}
