package command

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// StopSignals returns the signals that end every command gracefully.
func StopSignals() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

// ReloadsOnHangup annotates the commands that a hangup does not stop.
const ReloadsOnHangup = "cronce_reloads_on_hangup"

// stopOnHangup makes a hangup, as of a closed terminal, stop a command like the
// other signals do. One that is ignored, as by nohup, stays so.
func stopOnHangup(c *cobra.Command) {
	if _, other := c.Annotations[ReloadsOnHangup]; other || signal.Ignored(syscall.SIGHUP) {
		return
	}
	ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGHUP)
	context.AfterFunc(ctx, stop)
	c.SetContext(ctx)
}

// oneStop is how long signals after the first belong to it: timeout(1) and shells
// signal the process and then its group.
const oneStop = 200 * time.Millisecond

// listedLeases bounds the run IDs in one log line.
const listedLeases = 20

// WatchSignals logs the signal that stops the process gracefully, and ends the
// process at a second one, later than oneStop. Runs that it holds then stay leased: it logs which.
// The returned function ends the watch.
func (env *Env) WatchSignals(log *slog.Logger, lease time.Duration, leased func() []string) (end func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, StopSignals()...)
	done, ended := make(chan struct{}), make(chan struct{})
	next := func() os.Signal {
		select {
		case s := <-signals:
			return s
		case <-done:
			return nil
		}
	}
	go func() {
		defer close(ended)
		first := next()
		if first == nil {
			return
		}
		log.Info("stopping gracefully; a second signal stops immediately", "signal", first.String())
		stopping := time.Now()
		second := next()
		for second != nil && time.Since(stopping) < oneStop {
			second = next()
		}
		if second != nil {
			ids := leased()
			log.Error("stopped immediately; runs stay leased until their leases expire", "signal", second.String(),
				"runs", len(ids), "lease", lease.String(), "runIds", ids[:min(len(ids), listedLeases)])
			env.Exit(ExitFailed)
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
		<-ended
	}
}
