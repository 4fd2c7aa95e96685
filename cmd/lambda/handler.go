package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
)

// onTime lets a tick a minute, itself up to a minute late, plan what came due
// since the last one as on time.
const onTime = 2 * time.Minute

// lease is shorter than a daemon's: the delivery that follows a crash waits for
// it to expire, and is paid for while it waits.
const lease = 10 * time.Second

// handler answers the platform's events with one registry. It is a
// lambda.Handler.
type handler struct {
	reg    *jobs.Registry
	caller executor.Caller
	log    *slog.Logger
	// ledger is the database's; nil: stateless, each event gets a ledger in
	// memory and the target's key alone protects.
	ledger *database
	// publicURL is the dashboard's, for links in notifications; "": none.
	publicURL string
}

// close ends what the handler holds.
func (h *handler) close() {
	if h.ledger != nil {
		h.ledger.close()
	}
}

// Invoke answers one event; docs/aws.md says what is an error to the platform.
func (h *handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	ctx, cancel := withMargin(ctx)
	defer cancel()
	answer, err := h.answer(ctx, payload)
	if h.ledger != nil {
		h.ledger.release()
	}
	if err != nil {
		h.log.Error("event failed; error returned to the platform", "error", err, "errorType", errorType(err))
		return nil, err
	}
	return json.Marshal(answer)
}

// answer answers an SQS batch, or one event.
func (h *handler) answer(ctx context.Context, payload []byte) (any, error) {
	s, err := unwrapped(payload)
	if err != nil {
		return nil, err
	}
	if s.has("Records") {
		return h.batch(ctx, s)
	}
	return h.one(ctx, s)
}

// one answers a tick, or an event that asks for one run.
func (h *handler) one(ctx context.Context, s shape) (any, error) {
	if s.has("tick") {
		return h.tick(ctx, s)
	}
	e, err := s.event()
	if err != nil {
		return nil, err
	}
	return h.run(ctx, e)
}

// withMargin leaves a part of the time to record what came of the last call
// and to answer: a fifth, at most two seconds. Half of it is for recording: see
// grace.
func withMargin(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	margin := min(time.Until(deadline)/5, 2*time.Second)
	return context.WithDeadline(ctx, deadline.Add(-margin))
}

// grace returns what an executor has after ctx's deadline to record what came of its
// calls: half the margin that withMargin left, or less.
func grace(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return 5 * time.Second
	}
	return max(min(time.Until(deadline)/8, time.Second), time.Millisecond)
}

// ticked is the answer to a tick.
type ticked struct {
	Tick bool `json:"tick"`
}

// errTickStateless refuses a tick where no ledger knows what is due.
var errTickStateless = errors.New(`a tick plans from the ledger, and this function has none: set CRONCE_DATABASE_URL to a PostgreSQL ledger, or send an event for each job (cronce export cloudformation)`)

// tick plans and works for as long as there is time, and reports to the heartbeat whether that
// succeeded.
func (h *handler) tick(ctx context.Context, s shape) (any, error) {
	if string(s["tick"]) != "true" || len(s) > 1 {
		return nil, errors.Join(errBadEvent, errors.New(`a tick is {"tick":true} and nothing else`))
	}
	if h.ledger == nil {
		return nil, ofKind(errRefused, errTickStateless)
	}
	err := h.beat(ctx)
	h.report(ctx, err)
	if err != nil {
		return nil, err
	}
	h.log.Info("tick finished") // an alarm counts these (package export)
	return ticked{true}, nil
}

// executor returns an executor for this event alone: its leases are named by a process of
// its own, and nothing of an earlier event is left in it.
func (h *handler) executor(ctx context.Context) (*executor.Executor, error) {
	cfg := executor.Config{
		Registry: h.reg, Caller: h.caller, Logger: h.log,
		MaxInFlight: maxAtOnce, Lease: lease, Grace: grace(ctx), OnTime: onTime,
	}
	if h.ledger == nil {
		cfg.Ledger = newStateless()
		return executor.New(cfg)
	}
	var err error
	if cfg.Ledger, err = h.ledger.open(ctx); err != nil {
		return nil, err
	}
	return executor.New(cfg)
}
