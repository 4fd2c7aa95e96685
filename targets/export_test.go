package targets

import (
	"net"
	"time"

	"github.com/cronce/cronce/internal/clocks"
)

var (
	ProblemCode = problemCode
	Join        = join
	ReadKeys    = readKeys

	InMilliseconds = clocks.Milliseconds
)

// WithClock has the targets read another machine's clocks.
func (c *Config) WithClock(now func() time.Time) { c.now = now }

// WithResolver has the targets look names up elsewhere.
func (c *Config) WithResolver(r *net.Resolver) { c.resolver = r }
