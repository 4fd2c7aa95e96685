package serve

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/cronce/cronce/internal/rollover"
)

// notifier tells systemd about the process (sd_notify(3)). Elsewhere, where
// NOTIFY_SOCKET is not set, it does nothing.
type notifier struct{ log *slog.Logger }

func (n notifier) send(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		n.log.Warn("failed to notify the service manager", "error", err)
	}
}

func (n notifier) ready()    { n.send(daemon.SdNotifyReady) }
func (n notifier) stopping() { n.send(daemon.SdNotifyStopping) }
func (n notifier) reloading() {
	n.send(daemon.SdNotifyReloading + "\n" + daemon.SdNotifyMonotonicUsec())
}

// extendStart asks for more time to start than the unit's TimeoutStartSec, until stop is called: the
// ledger may be down, and its migration may build an index over all runs.
func (n notifier) extendStart(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	asking.Go(func() {
		every(ctx, 30*time.Second, func() bool { n.send("EXTEND_TIMEOUT_USEC=120000000"); return true })
	})
	return func() { cancel(); asking.Wait() }
}

// watch sends READY when the fleet is ready, then feeds the watchdog as long as
// its planner makes progress, until ctx ends or stop is called: then STOPPING.
func (n notifier) watch(ctx context.Context, fleet *rollover.Fleet[*instance]) (stop func(), err error) {
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return nil, fmt.Errorf("WATCHDOG_USEC or WATCHDOG_PID is not what systemd sets: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() {
		defer n.stopping()
		every(ctx, 100*time.Millisecond, func() bool { return fleet.Current().Ready() != nil })
		if ctx.Err() != nil {
			return
		}
		n.ready()
		if limit > 0 {
			every(ctx, limit/4, func() bool { n.feed(fleet.Current(), limit); return true })
		}
		<-ctx.Done()
	})
	return func() { cancel(); group.Wait() }, nil
}

// feed keeps the watchdog quiet while the planner looks for what is due.
func (n notifier) feed(i *instance, limit time.Duration) {
	if i.PlannerAge() < limit/2 {
		n.send(daemon.SdNotifyWatchdog)
	}
}

// every calls f at once and then each d, until it returns false or ctx ends.
func every(ctx context.Context, d time.Duration, f func() bool) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for ctx.Err() == nil && f() {
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}
