package jobs

import "time"

// Entry is a part of a registry: a Name, Target, Job, KeyTTL, KeyStore,
// Platform, Cleanup, Defaults, Alarm, Channel or Heartbeat.
type Entry interface{ enter(*draft) }

// Name is the registry's name, required: the principal under which targets keep the
// keys of its calls. Two registries never share one. It matches
// [a-zA-Z0-9][a-zA-Z0-9._-]{0,63}.
type Name string

// Target is a service that jobs call.
type Target struct {
	Name   string // [a-z0-9][a-z0-9._-]{0,63}
	URLEnv string // the variable that holds the base URL
	// URL is the base URL of a built-in target that has no variable.
	URL  string
	Auth Auth
	TLS  TLS
	// AllowHTTP lets the URLs be http to a machine other than this one. Calls and
	// tokens are then sent unencrypted.
	AllowHTTP   bool
	MaxInFlight int // calls at once; 0: the executor's limit
}

// KeyTTL is how long a target keeps the keys of a scope, which is an exact name, or
// a prefix and a final *.
type KeyTTL struct {
	Scope string
	TTL   time.Duration
}

// DefaultKeyTTL is the TTL of a key whose scope no KeyTTL covers.
const DefaultKeyTTL = 24 * time.Hour

// KeyStore is a database whose idempotency keys the nightly purge removes once
// they have expired.
type KeyStore struct {
	Name   string // [a-z0-9][a-z0-9._-]{0,63}
	URLEnv string // the variable that holds the database's URL
	Schema string // empty: where the connection's search finds the table
}

// Platform is how late AWS may deliver an event when a Lambda runs jobs. The
// exported template sets these bounds, and a run's horizon includes them. In Go,
// zero stands for the default and a negative age for none.
type Platform struct {
	EventAge       time.Duration // EventBridge's retries; default 1h
	LambdaEventAge time.Duration // Lambda's asynchronous queue; default 1h
	QueueAge       time.Duration // an SQS queue between them; default 0
}

// Cleanup configures the built-in job PurgeJobID: when it runs, and how long it
// keeps what it deletes.
type Cleanup struct {
	Schedule        string        // in UTC; default "30 3 * * *"
	Timeout         time.Duration // of one purge; default 1h
	LedgerRetention time.Duration // finished runs, from their end; default 720h
	DeadRetention   time.Duration // unacknowledged dead runs; default 2160h
	AuditRetention  time.Duration // operators' acts, who and why; default 8760h
	// DisabledBecause, when set, disables the purge and is the reason: keys and
	// runs then stay until something else removes them. Empty: the purge runs.
	DisabledBecause string
}

func (n Name) enter(d *draft)     { d.names = append(d.names, n) }
func (t Target) enter(d *draft)   { d.targets = append(d.targets, t) }
func (j Job) enter(d *draft)      { d.jobs = append(d.jobs, j) }
func (k KeyTTL) enter(d *draft)   { d.ttls = append(d.ttls, k) }
func (s KeyStore) enter(d *draft) { d.stores = append(d.stores, s) }
func (p Platform) enter(d *draft) { d.platforms = append(d.platforms, p) }
func (c Cleanup) enter(d *draft)  { d.cleanups = append(d.cleanups, c) }
