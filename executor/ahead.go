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
	logged time.Time // the watermark that was logged last; zero: none
	text   atomic.Pointer[string]
}

// observe takes the latest watermark of this process's jobs. The log tells when that begins
// to be ahead, when it changes and when it ends.
func (w *aheadWatch) observe(latest, now time.Time) {
	text := ledger.AheadText(latest, now)
	w.text.Store(&text)
	switch {
	case text == "" && !w.logged.IsZero():
		w.logged = time.Time{}
		w.logger.Info("the clock has reached the ledger; all jobs run again")
	case text != "" && !w.logged.Equal(latest):
		w.logged = latest
		w.logger.Error("the ledger is ahead of the clock; jobs that it planned before the clock was set back do not run",
			"ahead", latest.Sub(now).Round(time.Second), "until", latest)
	}
}

// Ahead returns in a sentence that the ledger is ahead of its clock, as ledger.AheadText does; ""
// if it is not.
func (e *Executor) Ahead() string {
	if text := e.membership.ahead.text.Load(); text != nil {
		return *text
	}
	return ""
}
