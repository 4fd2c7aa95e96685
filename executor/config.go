package executor

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/cronce/cronce/jobs"
)

// Defaults of Config.
const (
	DefaultMaxInFlight = 64
	DefaultLease       = 30 * time.Second
	DefaultGrace       = 25 * time.Second
	DefaultOnTime      = 30 * time.Second
)

// Config is what New needs. Registry, Ledger and Caller are required.
type Config struct {
	Registry *jobs.Registry
	Ledger   Ledger
	Caller   Caller

	// Process identifies this executor in the ledger; default random.
	Process string
	// Host and Program, the program's version, tell a person which process it is; may
	// be empty.
	Host, Program string
	// MaxInFlight is the maximum number of calls in flight; default 64.
	MaxInFlight int
	// Lease is how long a run stays with a process that does not answer;
	// heartbeats come three times as often. Default 30s.
	Lease time.Duration
	// Grace is how long to wait for in-flight calls on shutdown; default 25s.
	Grace time.Duration

	// OnTime is how late a scheduled time may be planned and still count as on
	// time; catchUp judges what is later. Default 30s. An executor that plans only
	// now and then (Tick) needs more than its pause.
	OnTime time.Duration

	// Random gives the lease tokens and the jitter of waits, so that a simulation
	// repeats itself. Whoever knows it knows the tokens; the default cannot be
	// predicted. It is used under a lock.
	Random rand.Source

	Logger   *slog.Logger // default: none
	Observer Observer     // default: none
	Alarm    Alarm        // default: time.Ticker

	now func() time.Time // reads this machine's clocks; default time.Now
}

func (c Config) withDefaults() (Config, error) {
	if c.Registry == nil || c.Ledger == nil || c.Caller == nil {
		return c, errors.New("executor: Config needs a Registry, a Ledger and a Caller")
	}
	if c.Process == "" {
		c.Process = uuid.NewString()
	}
	if c.MaxInFlight <= 0 {
		c.MaxInFlight = DefaultMaxInFlight
	}
	if c.Lease <= 0 {
		c.Lease = DefaultLease
	}
	if c.Grace <= 0 {
		c.Grace = DefaultGrace
	}
	if c.OnTime <= 0 {
		c.OnTime = DefaultOnTime
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Observer == nil {
		c.Observer = Silent{}
	}
	if c.now == nil {
		c.now = time.Now
	}
	if c.Alarm == nil {
		c.Alarm = &ticker{}
	}
	return c, nil
}
