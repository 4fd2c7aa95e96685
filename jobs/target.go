package jobs

import "time"

// Entry is an argument of NewRegistry: a Name, Target, Job, Template, KeyTTL, KeyStore,
// Platform, Cleanup, Defaults, Alarm, Channel or Heartbeat.
type Entry interface{ enter(*draft) }

// Name is the name of a registry, which is required. It is the principal under which
// targets keep the keys of its calls, so no two registries may have the same name. It
// matches [a-zA-Z0-9][a-zA-Z0-9._-]{0,63}.
type Name string

// Target is a service that jobs call.
type Target struct {
	Name   string // [a-z0-9][a-z0-9._-]{0,63}
	URLEnv string // the variable that holds the base URL
	// URL is the base URL of a built-in target that has no variable.
	URL  string
	Auth Auth
	TLS  TLS
	// AllowHTTP allows http URLs of other machines. Calls and tokens are then sent
	// unencrypted. It does not apply to a token endpoint.
	AllowHTTP   bool
	MaxInFlight int // maximum number of calls at the same time, in each process; 0: the executor shares its places
	Key         Key // how the target takes idempotency keys
	// KeepAnswers is how long the ledger keeps what a failing answer says; 0: it does not.
	KeepAnswers time.Duration
}

// KeyTTL declares how long a target keeps the keys of a scope.
type KeyTTL struct {
	Scope string // a key scope, or a prefix followed by *
	TTL   time.Duration
}

// DefaultKeyTTL is the TTL of keys whose scope no KeyTTL matches.
const DefaultKeyTTL = 24 * time.Hour

// KeyStore is a database from which the nightly purge removes expired idempotency keys.
type KeyStore struct {
	Name   string // [a-z0-9][a-z0-9._-]{0,63}
	URLEnv string // the variable that holds the database's URL
	Schema string // of the table (MySQL: database); "": the one that the connection uses
}

// Platform limits how late AWS may deliver an event when a Lambda runs jobs. The
// exported template sets these limits, and a run's horizon includes them. In Go, zero
// means the default, and a negative age means 0.
type Platform struct {
	EventAge       time.Duration // maximum age of an event in EventBridge; default 1h
	LambdaEventAge time.Duration // in Lambda's asynchronous queue; default 1h
	QueueAge       time.Duration // in an SQS queue before the function; default 0
}

// Cleanup configures the built-in job PurgeJobID: when it runs, and how long it
// keeps what it deletes.
type Cleanup struct {
	Schedule        string        // in UTC; default "30 3 * * *"
	Timeout         time.Duration // of one purge; default 1h
	LedgerRetention time.Duration // of finished runs, from their end; default 720h
	DeadRetention   time.Duration // of unacknowledged dead runs; default 2160h
	AuditRetention  time.Duration // of the audit of operators' actions; default 8760h
	// DisabledBecause is the reason why the purge is disabled; "": it is enabled. If it
	// is disabled, keys and runs stay until something else removes them.
	DisabledBecause string
}

func (n Name) enter(d *draft)     { d.names = append(d.names, n) }
func (t Target) enter(d *draft)   { d.targets = append(d.targets, t) }
func (j Job) enter(d *draft)      { d.jobs = append(d.jobs, d.register(j, len(d.jobs), nil)) }
func (k KeyTTL) enter(d *draft)   { d.ttls = append(d.ttls, k) }
func (s KeyStore) enter(d *draft) { d.stores = append(d.stores, s) }
func (p Platform) enter(d *draft) { d.platforms = append(d.platforms, p) }
func (c Cleanup) enter(d *draft)  { d.cleanups = append(d.cleanups, c) }
