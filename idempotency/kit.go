package idempotency

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"time"

	"github.com/cronce/cronce/idempotency/store"
	"github.com/cronce/cronce/idempotency/ttl"
)

// Kit runs each operation once and answers repeated calls from a [store.Store]. It is safe
// for concurrent use. A process needs one Kit for each store.
type Kit struct {
	store  store.Store
	opt    Options
	gate   gate
	scopes scopes
	works  works

	replayable []string // canonical names of headers
}

// Options configure a [Kit]. Only Principal is required.
type Options struct {
	// Principal returns the caller of a request: an authenticated account or client ID,
	// not a token, since tokens change. Two principals can use the same key without
	// conflict. An error or "" is answered 401. Services without callers of different
	// rights use [SinglePrincipal]. It is required even if the service uses only [Do] and
	// [Call], which do not call it: see Operation.Principal.
	Principal func(*http.Request) (string, error)

	// TTL is how long a completed key is remembered; default 24h.
	TTL time.Duration
	// TTLs overrides TTL by key scope. A name that is the scope takes precedence over
	// prefixes that end in *, and a longer prefix over a shorter one.
	TTLs map[string]time.Duration
	// Wait is how long a call waits for another one with the same key; default 5s.
	// Negative: it does not wait.
	Wait time.Duration
	// MaxRun is the time limit of the work; default 5m. The work goes on if its caller
	// disconnects. On PostgreSQL the key of a dead or stopped process is free after
	// twice MaxRun at the latest. On other databases it may stay taken longer: see
	// docs/kit-engines.md.
	MaxRun time.Duration
	// Lease is how long a worker of long work keeps its key after the last
	// [Work.Progress]; default 1m.
	Lease time.Duration
	// StoreTimeout is the time limit of each call of the store; default 10s.
	StoreTimeout time.Duration

	// MaxRequestBody is the maximum size of a request's body, in bytes; default 1 MiB.
	// A larger one is answered 413.
	MaxRequestBody int64
	// MaxReplyBody is the maximum size of a reply's body, in bytes; default 16 MiB. The
	// body is held in memory until the commit. The work of a larger one is rolled back
	// and answered 500.
	MaxReplyBody int
	// MaxStoredBody is the maximum size of a stored body, in bytes; default 1 MiB. Of a
	// larger reply only the status and headers are stored.
	MaxStoredBody int
	// Policy returns what the kit does with a handler's work, by the status of its
	// reply; default [DefaultPolicy].
	Policy func(status int) Disposition
	// ReplayHeaders are headers that are replayed in addition to Content-Type,
	// Content-Encoding, Content-Language, Content-Location, Content-Disposition,
	// Location, Link, ETag, Last-Modified, Cache-Control, Expires and Vary. Set-Cookie,
	// Date, hop-by-hop headers and values that are not UTF-8 are never replayed.
	ReplayHeaders []string
	// MismatchStatus is the status of an answer to [ErrMismatch]: 409 (the default), or
	// 422 as in the IETF draft.
	MismatchStatus int
	// WriteProblem writes the kit's own error answers; default
	// application/problem+json (RFC 9457) with a code.
	WriteProblem func(http.ResponseWriter, *http.Request, Problem)
	// Logger logs failures whose details are not sent to callers; default
	// slog.Default().
	Logger *slog.Logger
}

// SinglePrincipal returns a function for Options.Principal that returns name for every
// request. It is for services with a single caller, or whose keys cannot be guessed.
func SinglePrincipal(name string) func(*http.Request) (string, error) {
	return func(*http.Request) (string, error) { return name, nil }
}

// New returns a kit on a store. It returns an error for invalid options, and if
// Options.Principal is nil.
func New(store store.Store, o Options) (*Kit, error) {
	if store == nil {
		return nil, errors.New("idempotency: New needs a store, for example postgres.New(pool, postgres.Options{})")
	}
	if o.Principal == nil {
		return nil, errors.New("idempotency: Options.Principal is required; return the authenticated caller, or use SinglePrincipal")
	}
	if s := o.MismatchStatus; s != 0 && s != http.StatusConflict && s != http.StatusUnprocessableEntity {
		return nil, fmt.Errorf("idempotency: Options.MismatchStatus is %d; use 409 or 422", s)
	}
	if err := o.checkLimits(); err != nil {
		return nil, err
	}
	return &Kit{store: store, opt: o.complete(), replayable: replayable(o.ReplayHeaders)}, nil
}

// Ready checks the store before the first call: its table, columns, privileges
// and settings. Call it when the service starts. The error names every problem
// and says what to do; without Ready each call would be answered 503. A store
// that is not a [store.Checker] is ready.
func (k *Kit) Ready(ctx context.Context) error {
	store, ok := k.store.(store.Checker)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, k.opt.StoreTimeout)
	defer cancel()
	return store.Check(ctx, k.opt.MaxRun)
}

// checkLimits refuses what would make every key expired, or every work too long.
func (o Options) checkLimits() error {
	for _, limit := range []struct {
		name  string
		value int64
	}{
		{"TTL", int64(o.TTL)}, {"MaxRun", int64(o.MaxRun)}, {"Lease", int64(o.Lease)}, {"StoreTimeout", int64(o.StoreTimeout)},
		{"MaxRequestBody", o.MaxRequestBody}, {"MaxReplyBody", int64(o.MaxReplyBody)}, {"MaxStoredBody", int64(o.MaxStoredBody)},
	} {
		if limit.value < 0 {
			return fmt.Errorf("idempotency: Options.%s is negative; leave it zero for the default", limit.name)
		}
	}
	for scope, ttl := range o.TTLs {
		if ttl <= 0 {
			return fmt.Errorf("idempotency: Options.TTLs[%q] is %v; it must be positive", scope, ttl)
		}
	}
	return nil
}

func (o Options) complete() Options {
	set(&o.TTL, 24*time.Hour)
	set(&o.Wait, 5*time.Second)
	set(&o.MaxRun, 5*time.Minute)
	set(&o.Lease, time.Minute)
	set(&o.StoreTimeout, 10*time.Second)
	set(&o.MaxRequestBody, 1<<20)
	set(&o.MaxReplyBody, 16<<20)
	set(&o.MaxStoredBody, 1<<20)
	set(&o.MismatchStatus, http.StatusConflict)
	set(&o.Logger, slog.Default())
	if o.Policy == nil {
		o.Policy = DefaultPolicy
	}
	if o.WriteProblem == nil {
		o.WriteProblem = WriteProblem
	}
	return o
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// claim fills in what every claim of this kit has.
func (k *Kit) claim(key Key, fingerprint string, life time.Duration) store.Claim {
	if life <= 0 {
		life = k.ttl(key.Scope)
	}
	return store.Claim{Key: key, Fingerprint: fingerprint, Owner: rand.Text(), TTL: life, MaxRun: k.opt.MaxRun}
}

func (k *Kit) ttl(scope string) time.Duration {
	if pattern, ok := ttl.Match(scope, maps.Keys(k.opt.TTLs)); ok {
		return k.opt.TTLs[pattern]
	}
	return k.opt.TTL
}
