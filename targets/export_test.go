package targets

import "time"

var (
	RetryAfter    = retryAfter
	ProblemCode   = problemCode
	ParseBase     = parseBase
	ParseEndpoint = parseEndpoint
	Join          = join

	InMilliseconds = inMilliseconds
)

// WithClock has the targets read another machine's clocks.
func (c *Config) WithClock(now func() time.Time) { c.now = now }
