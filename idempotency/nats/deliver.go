package nats

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/internal/pause"
)

// errStopping: Consume ended before anything was known of the event.
var errStopping = errors.New("the consumer is being stopped")

// giveUpWithin bounds Options.GiveUp.
const giveUpWithin = 30 * time.Second

// delivery is one delivery of one message.
type delivery struct {
	*loop
	msg jetstream.Msg
	nth uint64 // 1 for the first delivery
	log *slog.Logger
}

// deliver handles a message and tells the server what came of it.
func (l *loop) deliver(ctx context.Context, msg jetstream.Msg) {
	log := l.opt.Logger.With("event", l.opt.Event, "handler", l.opt.Handler, "subject", msg.Subject())
	meta, err := msg.Metadata()
	if err != nil {
		log.ErrorContext(ctx, "message without metadata left alone", "error", err)
		return
	}
	d := &delivery{loop: l, msg: msg, nth: meta.NumDelivered,
		log: log.With("stream", meta.Stream, "seq", meta.Sequence.Stream, "delivery", meta.NumDelivered)}
	if err := d.decide(ctx)(); err != nil {
		d.log.WarnContext(ctx, "event not acknowledged, so it will be delivered again", "error", err)
	}
}

// decide handles the event and returns the final acknowledgement, to be sent after the last
// heartbeat: a heartbeat that followed it would delay the next delivery by AckWait.
func (d *delivery) decide(ctx context.Context) (say func() error) {
	defer d.keep(ctx)()
	return d.conclude(ctx, d.handleOnce(ctx))
}

// keep tells the server that the message is worked on, until release.
func (d *delivery) keep(ctx context.Context) (release func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		beat := time.NewTicker(d.heartbeat)
		defer beat.Stop()
		for {
			select {
			case <-done:
				return
			case <-beat.C:
				if err := d.msg.InProgress(); err != nil && !errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
					d.log.WarnContext(ctx, "heartbeat not sent", "error", err)
				}
			}
		}
	}()
	return func() { close(done); <-ended }
}

// handleOnce tries again until the kit knows the outcome of the event. It returns nil if the
// event was handled, now or before.
func (d *delivery) handleOnce(ctx context.Context) error {
	id, err := d.opt.ID(d.msg)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPermanent, err)
	}
	op := idempotency.Operation{Scope: idempotency.EventScope(d.opt.Event, d.opt.Handler), Key: id, Payload: d.opt.Payload(d.msg),
		TTL: d.opt.TTL}
	for try := uint64(1); ; try++ {
		if ctx.Err() != nil {
			return errStopping
		}
		known, err := d.once(ctx, op)
		if known {
			return err
		}
		d.log.WarnContext(ctx, "event held", "key", id, "error", err)
		pause.For(ctx, d.backoff(try))
	}
}

// once runs the handler unless it has run. known is false when the kit could
// not tell, which says nothing against the event.
func (d *delivery) once(ctx context.Context, op idempotency.Operation) (known bool, err error) {
	var failure error
	_, replayed, err := idempotency.Do(ctx, d.kit, op, func(ctx context.Context) (struct{}, error) {
		failure = d.call(ctx)
		return struct{}{}, failure
	})
	switch {
	case err == nil && replayed:
		d.log.DebugContext(ctx, "event was handled before", "key", op.Key)
		return true, nil
	case err == nil:
		return true, nil
	case failure != nil:
		return true, failure
	case errors.Is(err, idempotency.ErrInProgress), errors.Is(err, idempotency.ErrUnavailable):
		return false, err
	case errors.Is(err, idempotency.ErrMismatch), errors.Is(err, idempotency.ErrInvalidKey), errors.Is(err, idempotency.ErrTxEnded):
		return true, fmt.Errorf("%w: %w", ErrPermanent, err)
	default:
		return ctx.Err() == nil, err
	}
}

// call runs the handler. One event that makes it panic must not take down the
// handling of all the others, delivery after delivery.
func (d *delivery) call(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the handler panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return d.handler(ctx, event{d.msg})
}

// event is a message as its handler gets it. Consume tells the server what came of it, after the
// commit: an acknowledgement before that would lose the event if the commit fails.
type event struct{ jetstream.Msg }

var errManaged = errors.New("nats: Consume acknowledges the event after the commit: return nil from the handler, or an error")

func (event) Ack() error                       { return errManaged }
func (event) DoubleAck(context.Context) error  { return errManaged }
func (event) Nak() error                       { return errManaged }
func (event) NakWithDelay(time.Duration) error { return errManaged }
func (event) Term() error                      { return errManaged }
func (event) TermWithReason(string) error      { return errManaged }

// conclude is what to tell the server.
func (d *delivery) conclude(ctx context.Context, err error) (say func() error) {
	switch {
	case err == nil:
		return d.msg.Ack
	case errors.Is(err, errStopping):
		return d.msg.Nak
	case errors.Is(err, ErrPermanent), errors.As(err, new(*idempotency.FinalError)):
		return d.giveUp(ctx, "permanent", err)
	case d.last > 0 && d.nth >= d.last:
		return d.giveUp(ctx, "exhausted", err)
	default:
		return d.again(ctx, err)
	}
}

func (d *delivery) again(ctx context.Context, why error) (say func() error) {
	delay := d.backoff(d.nth)
	d.log.WarnContext(ctx, "event failed", "again_in", delay, "error", why)
	return func() error { return d.msg.NakWithDelay(delay) }
}

// giveUp terminates the message once Options.GiveUp has taken it. The reason that the
// server publishes contains nothing of the event.
func (d *delivery) giveUp(ctx context.Context, reason string, why error) (say func() error) {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveUpWithin)
	defer cancel()
	if err := d.opt.GiveUp(within, d.msg, why); err != nil {
		return d.again(ctx, fmt.Errorf("giving up failed: %w; the event had failed: %w", err, why))
	}
	d.log.ErrorContext(ctx, "event given up", "reason", reason, "error", why)
	return func() error { return d.msg.TermWithReason(reason) }
}

// backoff is the pause after the nth failure, longer by up to a quarter so
// that events that failed together do not come back together.
func (l *loop) backoff(nth uint64) time.Duration {
	steps := l.opt.Backoff
	d := steps[min(max(nth, 1), uint64(len(steps)))-1]
	return d + rand.N(d/4+1)
}
