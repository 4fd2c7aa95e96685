package cli

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/terminal"
)

// stopSignals end every command gracefully.
func stopSignals() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

// reloadsOnHangup annotates the commands that a hangup does not stop.
const reloadsOnHangup = "cronce_reloads_on_hangup"

// stopOnHangup makes a hangup, as of a closed terminal, stop a command like the
// other signals do. One that is ignored, as by nohup, stays so.
func stopOnHangup(c *cobra.Command) {
	if _, other := c.Annotations[reloadsOnHangup]; other || signal.Ignored(syscall.SIGHUP) {
		return
	}
	ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGHUP)
	context.AfterFunc(ctx, stop)
	c.SetContext(ctx)
}

// hangups are the requests to reload.
type hangups struct {
	signals  chan os.Signal
	output   io.Writer
	terminal bool // the output was one at the start
	gone     func()
}

// watchHangups starts to handle SIGHUP. If the terminal that the process
// writes to has gone, a hangup calls gone instead.
func (a *app) watchHangups(gone func()) *hangups {
	h := &hangups{signals: make(chan os.Signal, 1), output: a.err, terminal: terminal.Is(a.err), gone: gone}
	signal.Notify(h.signals, syscall.SIGHUP)
	return h
}

func (h *hangups) stop() { signal.Stop(h.signals) }

// next waits for a request to reload; false when there will be none.
func (h *hangups) next(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-h.signals:
	}
	if h.terminal && !terminal.Is(h.output) {
		h.gone()
		return false
	}
	return true
}

// oneStop is how long signals after the first belong to it: timeout(1) and shells
// signal the process and then its group.
const oneStop = 200 * time.Millisecond

// listedLeases bounds the run IDs in one log line.
const listedLeases = 20

// watchSignals logs the signal that stops the process gracefully, and ends the
// process at a second one, later than oneStop. Runs that it holds then stay leased: it logs which.
// The returned function ends the watch.
func (a *app) watchSignals(log *slog.Logger, lease time.Duration, leased func() []string) (end func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, stopSignals()...)
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
			a.exit(exitFailed)
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
		<-ended
	}
}
