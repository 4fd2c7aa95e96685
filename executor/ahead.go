package executor

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/ledger"
)

// aheadWatch tells when the ledger is ahead of its clock: the clock was set back, and
// jobs do not run until it reaches their watermarks.
type aheadWatch struct {
	logger *slog.Logger
	until  time.Time // the watermark that the log told; zero: none
	text   atomic.Pointer[string]
}

// note takes the latest watermark of this process's jobs. The log tells when that begins
// to be ahead, when it changes and when it ends.
func (w *aheadWatch) note(latest, now time.Time) {
	text := ledger.AheadText(latest, now)
	w.text.Store(&text)
	switch {
	case text == "" && !w.until.IsZero():
		w.until = time.Time{}
		w.logger.Info("the clock has reached the ledger; all jobs run again")
	case text != "" && !w.until.Equal(latest):
		w.until = latest
		w.logger.Error("the ledger is ahead of the clock; jobs that it planned before the clock was set back do not run",
			"ahead", latest.Sub(now).Round(time.Second), "until", latest)
	}
}

// Ahead says that the ledger is ahead of its clock, as ledger.AheadText does; "" if it is
// not.
func (e *Executor) Ahead() string {
	if text := e.membership.ahead.text.Load(); text != nil {
		return *text
	}
	return ""
}
