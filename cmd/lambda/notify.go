package main

import (
	"context"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/notify"
)

// maxTelling is the longest time that a pass leaves. With withMargin's it is in the function's
// time limit (answerMargin in internal/export).
const maxTelling = 4 * time.Second

// beat plans and works on what is due, then looks for incidents and sends their
// notifications.
func (h *handler) beat(ctx context.Context) error {
	if err := h.work(ctx); err != nil {
		return err
	}
	l, err := h.ledger.open(ctx)
	if err != nil {
		return err
	}
	w := notify.NewNotifier(notify.Config{Registry: h.reg, Ledger: l, Runs: l, PublicURL: h.publicURL, Planned: true, Logger: h.log,
		Now: time.Now})
	return w.Send(ctx, h.work, func() bool { return timeFor(ctx, 2*maxPoll) }) // what is left is the next tick's
}

// work makes a pass of the executor, which leaves time to tell of what it finds: calls to a
// target that hangs fill all that a pass may take.
func (h *handler) work(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-min(time.Until(deadline)/3, maxTelling)))
		defer cancel()
	}
	e, err := h.executor(ctx)
	if err != nil {
		return err
	}
	return e.Tick(ctx)
}

// report pings the registry's heartbeat: a tick that finished has planned.
func (h *handler) report(ctx context.Context, problem error) {
	if beat := h.reg.Heartbeat(); beat.Every > 0 {
		(&notify.Heartbeat{Registry: h.reg.Name(), Caller: h.caller, Logger: h.log}).Report(ctx, problem)
	}
}

// mails returns the targets to which this function sends nothing: what sends mail would add
// a third to the binary, and each cold start loads it.
func (h *handler) mails() map[string]bool {
	targets := map[string]bool{}
	for _, c := range h.reg.Channels() {
		if c.Type == jobs.ChannelEmail {
			h.log.Warn("channel of type email is left to a process that runs cronce serve on the same ledger", "channel", c.Name)
			targets[c.Target()] = true
		}
	}
	return targets
}

// noMail leaves a mail to others, and keeps the ticks to come from trying.
var noMail = executor.Answer{
	Unsent: true, RetryAfter: 5 * time.Minute, Error: noMailText,
	WaitReason: ledger.WaitReason{Code: ledger.WaitTargetNotConfigured, Text: noMailText},
}

const noMailText = "not sent: a Lambda sends no email; run cronce serve on the same ledger, or use another type of channel"
