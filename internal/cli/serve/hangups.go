package serve

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/cronce/cronce/internal/terminal"
)

// hangups receives SIGHUP, the request to reload.
type hangups struct {
	signals  chan os.Signal
	output   io.Writer
	terminal bool // the output was one at the start
	gone     func()
}

// watchHangups starts to handle SIGHUP. If the terminal that the process
// writes to has gone, a hangup calls gone instead.
func (a *app) watchHangups(gone func()) *hangups {
	h := &hangups{signals: make(chan os.Signal, 1), output: a.Err, terminal: terminal.Is(a.Err), gone: gone}
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
