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

// Kit answers repeated calls from a [store.Store]. It is safe for concurrent use;
// a process needs one for each store.
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
	// Principal returns who makes a request: an account or client id that the
	// request's authentication has proved, never a token, which changes. Keys
	// of two principals never meet. An error or "" is answered 401.
	// [SinglePrincipal] is the explicit way to do without.
	Principal func(*http.Request) (string, error)

	// TTL is how long a completed key is remembered; default 24h.
	TTL time.Duration
	// TTLs overrides TTL by key scope: an exact name, else the longest name
	// that ends in * and matches.
	TTLs map[string]time.Duration
	// Wait is how long a call waits for another with its key; default 5s,
	// negative: not at all.
	Wait time.Duration
	// MaxRun bounds the work, which outlives its caller's disconnect; default
	// 5m. It also bounds how long the key of a process that died or stopped stays
	// taken, in a way that depends on the engine: on PostgreSQL the key is free
	// within twice MaxRun.
	MaxRun time.Duration
	// Lease is how long long work keeps its key without a [Work.Progress]; default
	// 1m. After a worker's death its key is free at the latest this long after.
	Lease time.Duration
	// StoreTimeout bounds each exchange with the store; default 10s.
	StoreTimeout time.Duration

	// MaxRequestBody is what is read of a request, in bytes; larger ones are
	// answered 413. Default 1 MiB.
	MaxRequestBody int64
	// MaxReplyBody bounds the body of a reply, in bytes, which is held in
	// memory until the commit. The work of a larger one is rolled back and
	// answered 500. Default 16 MiB.
	MaxReplyBody int
	// MaxStoredBody is what is stored of a reply, in bytes; of a larger one
	// only status and headers are. Default 1 MiB.
	MaxStoredBody int
	// Policy decides what the kit does with a handler's work, by its status; default
	// [DefaultPolicy].
	Policy func(status int) Disposition
	// ReplayHeaders are replayed besides the default ones (Content-Type,
	// Location, ETag and their like). Set-Cookie, Date and hop-by-hop headers
	// never are.
	ReplayHeaders []string
	// MismatchStatus answers a key that comes with another payload: 409 (the
	// default) or 422, as the IETF draft has it.
	MismatchStatus int
	// WriteProblem writes the kit's own error answers; default
	// application/problem+json (RFC 9457) with a code.
	WriteProblem func(http.ResponseWriter, *http.Request, Problem)
	// Logger logs failures whose details no caller gets; default
	// slog.Default().
	Logger *slog.Logger
}

// SinglePrincipal returns a function for Options.Principal that gives all callers
// the same name. It is for services with a single caller, or whose keys cannot be
// guessed.
func SinglePrincipal(name string) func(*http.Request) (string, error) {
	return func(*http.Request) (string, error) { return name, nil }
}

// New builds a kit on a store. It fails on options that contradict each other
// and without a principal function.
func New(store store.Store, o Options) (*Kit, error) {
	if store == nil {
		return nil, errors.New("idempotency: New needs a store, for example postgres.New(pool, postgres.Options{})")
	}
	if o.Principal == nil {
		return nil, errors.New("idempotency: Options.Principal is required: say whose key it is, or use SinglePrincipal")
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
			return fmt.Errorf("idempotency: Options.TTLs[%q] is %v; a key must be remembered for a while", scope, ttl)
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
