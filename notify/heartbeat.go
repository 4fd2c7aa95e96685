package notify

import (
	"context"
	"log/slog"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Heartbeat pings an address while planning is current, so that a receiver outside
// notices when pings stop. It uses the paths of healthchecks.io: the address itself for
// success, /start when the process begins, /fail with the cause when it cannot plan,
// and /log when it stops. All fields are required for Run; Report needs neither Every
// nor Ready.
type Heartbeat struct {
	Registry string          // the registry's name
	Every    time.Duration   // between two pings
	Caller   executor.Caller // calls jobs.HeartbeatTarget
	Ready    func() error    // returns nil if planning is current, else the cause
	Logger   *slog.Logger

	failing bool
}

// Run pings each Every, until ctx ends.
func (h *Heartbeat) Run(ctx context.Context) {
	h.ping(ctx, "/start", "")
	tick := time.NewTicker(h.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			h.ping(last, "/log", "the process stops, or reads its registry again")
			cancel()
			return
		case <-tick.C:
		}
		h.Report(ctx, h.Ready())
	}
}

// Report sends one ping: success if problem is nil, else failure with problem as its
// cause. An error is only logged.
func (h *Heartbeat) Report(ctx context.Context, problem error) {
	if problem != nil {
		h.ping(ctx, "/fail", problem.Error())
		return
	}
	h.ping(ctx, "", "")
}

// ping sends one ping, in a bounded time. Of failures in a row, it logs the first.
func (h *Heartbeat) ping(ctx context.Context, path, text string) {
	limited, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	call := ledger.CallSpec{Target: jobs.HeartbeatTarget, Method: "POST", Path: path, ContentType: "text/plain; charset=utf-8", Body: []byte(text)}
	a := h.Caller.Call(limited, executor.Call{Registry: h.Registry,
		Work: ledger.Work{RunID: "heartbeat", JobID: "heartbeat", Attempt: 1, Call: call}})
	failing := a.Kind != ledger.AnswerFresh && a.Kind != ledger.AnswerReplayed
	if failing && !h.failing && ctx.Err() == nil {
		h.Logger.Warn("heartbeat not delivered; trying again", "error", a.Error)
	}
	h.failing = failing
}
