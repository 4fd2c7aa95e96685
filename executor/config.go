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

// Config configures an Executor. Registry, Ledger and Caller are required.
type Config struct {
	Registry *jobs.Registry
	// Ledger is the registry's ledger. Open it with package ledger/postgres or
	// ledger/sqlite.
	Ledger Ledger
	// Caller makes the calls. targets.New returns one for HTTP, which leaves two kinds of
	// calls unsent. Route those whose Target is jobs.BuiltinTarget to cleanup.Nightly, as
	// the example of this package does: every registry has the nightly purge. Route those
	// to email channels to the Caller of notify/mail.
	Caller Caller

	// Process identifies this executor in the ledger; default random.
	Process string
	// Host is the machine's name and Program the program's version. They tell a person
	// which process this is; both may be empty.
	Host, Program string
	// MaxInFlight is the maximum number of calls in flight; default DefaultMaxInFlight.
	// A target without a limit of its own leaves some of these places free.
	MaxInFlight int
	// Lease is the time for which a run stays with a process that stopped working; default
	// DefaultLease. A process renews its leases every Lease/3.
	Lease time.Duration
	// Grace is the time to wait for in-flight calls on shutdown; default DefaultGrace.
	Grace time.Duration

	// OnTime is the time by which a scheduled time may be planned late and still count as on time;
	// default DefaultOnTime. The job's catch-up rule decides about later ones. An
	// executor that ticks needs more than the time between two ticks.
	OnTime time.Duration

	// Random is the source of the lease tokens and of the jitter of waits. The default
	// cannot be predicted. Set it only to make a simulation reproducible, as the tokens
	// can be computed from its seed. It is used under a lock.
	Random rand.Source

	// Retired, if it is set, is called after a stop has left this process's jobs to others,
	// perhaps long before its calls have ended. See Reassign.
	Retired func()

	Logger   *slog.Logger // default: none
	Observer Observer     // default: none
	Waker    Waker        // default: time.Ticker

	now func() time.Time // reads this machine's clocks; default time.Now
}

// withDefaults returns the configuration with its defaults, or an error if a required field is
// missing.
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
		c.Observer = NopObserver{}
	}
	if c.now == nil {
		c.now = time.Now
	}
	if c.Waker == nil {
		c.Waker = &ticker{}
	}
	return c, nil
}
