package executor

import "time"

// WithClock has the executor read another machine's clocks.
func WithClock(c Config, now func() time.Time) Config {
	c.now = now
	return c
}
