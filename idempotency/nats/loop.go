package nats

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/cronce/cronce/idempotency"
)

// loop is one Consume.
type loop struct {
	kit     *idempotency.Kit
	opt     Options
	handler Handler
	// heartbeat is how often the server is told that a message is worked on;
	// two may be lost.
	heartbeat time.Duration
	// last is the delivery at which a failure gives the event up; 0: none is.
	last uint64
}

func newLoop(kit *idempotency.Kit, c jetstream.ConsumerConfig, o Options, fn Handler) (*loop, error) {
	if c.AckPolicy != jetstream.AckExplicitPolicy {
		return nil, fmt.Errorf("nats: consumer %s acknowledges by %v; an event that failed comes back only with AckExplicitPolicy",
			c.Name, c.AckPolicy)
	}
	l := &loop{kit: kit, opt: o, handler: fn, heartbeat: ackWait(c) / 3, last: uint64(o.MaxDeliver)}
	if own := c.MaxDeliver; own > 0 && (l.last == 0 || uint64(own) < l.last) {
		l.last = uint64(own)
	}
	return l, nil
}

// ackWait is the shortest that the server may wait; a consumer's BackOff
// overrides its AckWait.
func ackWait(c jetstream.ConsumerConfig) time.Duration {
	if len(c.BackOff) > 0 {
		return slices.Min(c.BackOff)
	}
	return c.AckWait
}

// run lets the workers fetch until ctx ends or one of them cannot go on, and
// waits for all.
func (l *loop) run(ctx context.Context, consumer jetstream.Consumer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failures := make(chan error, l.opt.Workers)
	var workers sync.WaitGroup
	for range l.opt.Workers {
		workers.Go(func() {
			if err := l.work(ctx, consumer); err != nil {
				failures <- err
				cancel()
			}
		})
	}
	workers.Wait()
	select {
	case err := <-failures:
		return err
	default:
		return nil
	}
}

// drainWithin bounds the wait for a message that is on its way to a worker
// that stops. A later one comes back after its AckWait.
const drainWithin = time.Second

// A worker asks again for its next message askAgain after it first did, then
// after twice as long each time; from askedEnough on it only waits.
const (
	askAgain    = 100 * time.Millisecond
	askedEnough = 5 * time.Second
)

// next waits for a message until ctx ends. The client's Next requests a message only
// when it begins, and not if the client still counts its former request as being sent.
// Then no request is open, and Next would wait until it misses the server's heartbeats,
// half a minute later. So next calls it several times with a limit. The last call has
// no limit, because only such a call notices missing heartbeats.
func next(ctx context.Context, messages jetstream.MessagesContext) (jetstream.Msg, error) {
	for wait := askAgain; wait < askedEnough; wait *= 2 {
		msg, err := nextWithin(ctx, wait, messages)
		if !errors.Is(err, context.DeadlineExceeded) {
			return msg, err
		}
	}
	return messages.Next(jetstream.NextContext(ctx))
}

func nextWithin(ctx context.Context, wait time.Duration, messages jetstream.MessagesContext) (jetstream.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return messages.Next(jetstream.NextContext(ctx))
}

// work fetches one message at a time, so that none waits in this process while
// its AckWait runs.
func (l *loop) work(ctx context.Context, consumer jetstream.Consumer) error {
	messages, err := consumer.Messages(jetstream.PullMaxMessages(1), jetstream.WithMessagesErrOnMissingHeartbeat(false))
	if err != nil {
		return fmt.Errorf("nats: fetch messages: %w", err)
	}
	defer messages.Stop()
	// A message that comes in while this stops is still returned by Next; but
	// a server that cannot be reached is not waited for.
	draining, drained := context.WithCancel(context.WithoutCancel(ctx))
	defer drained()
	defer context.AfterFunc(ctx, func() {
		messages.Drain()
		time.AfterFunc(drainWithin, drained)
	})()
	for {
		if ctx.Err() != nil {
			// At once: an event that was just given back would come again, to
			// this worker, and each time count as a delivery.
			messages.Drain()
		}
		msg, err := next(draining, messages)
		switch {
		case err == nil:
			l.deliver(ctx, msg)
		case ctx.Err() != nil:
			return nil
		default:
			return fmt.Errorf("nats: the consumer gives no more messages: %w", err)
		}
	}
}
