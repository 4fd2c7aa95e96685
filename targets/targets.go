package targets

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/sigv4"
	"github.com/cronce/cronce/jobs"
)

// Config configures Targets. Only Registry is required.
type Config struct {
	Registry *jobs.Registry
	// Lookup reads an environment variable; default os.LookupEnv. Only New calls it. So
	// a changed variable needs a restart, but a changed file of a secret does not.
	Lookup  func(string) (string, bool)
	Version string       // for User-Agent: cronce/<version>; default "dev"
	Logger  *slog.Logger // default: none
	// Inject adds trace fields of the context's span, such as traceparent, to a request;
	// default: none. It cannot change the fields that the package itself sets.
	Inject func(context.Context, http.Header)
	// RootCAs verify the targets' certificates; default: the system's.
	RootCAs *x509.CertPool
	// Allow lists the hosts, addresses and networks (CIDR) that may be called; none:
	// all. Link-local addresses and those of clouds' credential services must be listed
	// by address or network in any case.
	Allow []string
	// Proxy returns the proxy for a request; default: none.
	Proxy func(*http.Request) (*url.URL, error)
	// Dial opens connections; default: a net.Dialer with a limit of 10 s that applies
	// Allow. If Dial is set, it must restrict the addresses itself.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// MaxInFlight is the number of idle connections that are kept for each target; default 64. It
	// limits nothing else. Set it to executor.Config.MaxInFlight.
	MaxInFlight int
	// BreakerFailures is the number of failures in a row that open a target's circuit breaker;
	// default 10.
	BreakerFailures int
	// BreakerOpenFor is how long a circuit breaker stays open; default 5 s.
	BreakerOpenFor time.Duration

	now      func() time.Time // reads this machine's clocks; default time.Now
	resolver *net.Resolver    // default: the system's
}

// Targets calls the targets of one registry. It implements executor.Caller and
// is safe for concurrent use.
type Targets struct {
	byName    map[string]*target
	userAgent string
	inject    func(context.Context, http.Header)
	calls     *connections
	tokens    *tokens
	log       *slog.Logger
	now       func() time.Time
}

var _ executor.Caller = (*Targets)(nil)

// target is one resolved target.
type target struct {
	name    string
	base    *url.URL
	signer  signer
	tls     *ownTLS // nil: the shared connections
	breaker *breaker
	// keepAnswers is how long the ledger keeps what a failing answer says; 0: it does not.
	keepAnswers time.Duration
}

// New returns the targets of a registry. It reads every base URL and credential from the
// environment. The error is a [jobs.Problems] with all mistakes, without any value. A
// variable that only disabled jobs name may be unset; calls to it are then not sent.
func New(c Config) (*Targets, error) {
	c = c.withDefaults()
	var problems jobs.Problems
	allowed, err := parseAllowed(c.Allow)
	if err != nil {
		return nil, err
	}
	if c.Dial == nil {
		c.Dial = allowed.dial(c.resolver)
	}
	c.Proxy = allowed.proxy(c.Proxy)
	transport := func() *http.Transport { return newTransport(c) }
	calls := &connections{open: transport}
	t := &Targets{
		byName:    map[string]*target{},
		userAgent: "cronce/" + c.Version,
		inject:    c.Inject,
		calls:     calls,
		tokens:    newTokens(calls, c.now),
		log:       c.Logger,
		now:       c.now,
	}
	if !visible(t.userAgent) {
		problems = append(problems, jobs.Problem{Code: jobs.CodeBadValue, Message: "the version must be visible ASCII without spaces"})
	}
	for _, entry := range c.Registry.Targets() {
		r := resolver{lookup: c.Lookup, now: c.now, log: c.Logger, entry: entry}
		resolved := &target{name: entry.Name, base: r.base(), signer: r.signer(t.tokens), tls: r.ownTLS(transport),
			keepAnswers: entry.KeepAnswers}
		resolved.breaker = newBreaker(entry.Name, c.BreakerFailures, c.BreakerOpenFor, c.Logger)
		if len(r.problems) > 0 && idle(c.Registry, entry.Name) {
			continue
		}
		t.byName[entry.Name] = resolved
		problems = append(problems, r.problems...)
	}
	if len(problems) > 0 {
		t.Close()
		return nil, problems
	}
	return t, nil
}

// idle reports whether a target is only there because disabled jobs name its
// variable. Such a job does not keep a process from starting.
func idle(r *jobs.Registry, name string) bool {
	if !strings.HasPrefix(name, "env:") {
		return false
	}
	for j := range r.JobsAndTemplates() {
		if j.Target == name && !j.Disabled {
			return false
		}
	}
	return true
}

func (c Config) withDefaults() Config {
	if c.now == nil {
		c.now = time.Now
	}
	if c.Lookup == nil {
		c.Lookup = os.LookupEnv
	}
	if c.Version == "" {
		c.Version = "dev"
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Inject == nil {
		c.Inject = func(context.Context, http.Header) {}
	}
	if c.MaxInFlight <= 0 {
		c.MaxInFlight = 64
	}
	if c.BreakerFailures <= 0 {
		c.BreakerFailures = defaultFailures
	}
	if c.BreakerOpenFor <= 0 {
		c.BreakerOpenFor = defaultOpenFor
	}
	return c
}

// Close waits for token requests under way and closes the idle connections. No
// Call may be in progress or follow.
func (t *Targets) Close() {
	t.tokens.close()
	t.calls.close()
	for _, target := range t.byName {
		if target.tls != nil {
			target.tls.close()
		}
	}
}

// Breakers returns the state of each target's circuit breaker: "closed",
// "half-open" or "open".
func (t *Targets) Breakers() map[string]string {
	states := make(map[string]string, len(t.byName))
	for name, target := range t.byName {
		states[name] = target.breaker.state()
	}
	return states
}

// resolver reads one target's variables and gathers what is wrong with them.
type resolver struct {
	lookup   func(string) (string, bool)
	now      func() time.Time
	log      *slog.Logger
	entry    jobs.Target
	problems jobs.Problems
}

func (r *resolver) base() *url.URL {
	u, err := r.entry.BaseURL(r.lookup)
	r.note(err)
	return u
}

func (r *resolver) signer(tokens *tokens) signer {
	auth := r.entry.Auth
	switch auth.Type {
	case jobs.AuthBearer:
		return bearer{r.sources("token")}
	case jobs.AuthBasic:
		return basic{r.sources("username", "password")}
	case jobs.AuthHeaders:
		h := headers{names: slices.Sorted(maps.Keys(auth.Headers))}
		for _, name := range h.names {
			h.sources = append(h.sources, r.sources("headers."+name)...)
		}
		return h
	case jobs.AuthOAuth2:
		tokenURL, err := auth.TokenURL(r.lookup)
		r.note(err)
		return &clientCredentials{
			tokens:   tokens,
			tokenURL: tokenURL,
			id:       r.sources("clientId")[0],
			secret:   r.sources("clientSecret")[0],
		}
	case jobs.AuthJWT:
		return r.jwt(auth)
	case jobs.AuthHMAC:
		return r.standardWebhooks()
	case jobs.AuthSigV4:
		return sigV4{r.sources("accessKeyId", "secretAccessKey", "sessionToken"), sigv4.Scope{Region: auth.Region, Service: auth.Service}, r.now}
	case jobs.AuthRoutingKey:
		return routingKey{r.sources("routingKey")}
	case jobs.AuthNone, "":
		return unsigned{}
	}
	r.note(bad(jobs.CodeBadValue, "unknown auth type %q", auth.Type))
	return unsigned{}
}

// note keeps a problem, so that the start reports those of all targets at once.
func (r *resolver) note(err error) {
	var p jobs.Problem
	if errors.As(err, &p) {
		p.Message = fmt.Sprintf("target %q: %s", r.entry.Name, p.Message)
		r.problems = append(r.problems, p)
	}
}

// bad returns a problem as an error.
func bad(code, format string, args ...any) error {
	return jobs.Problem{Code: code, Message: fmt.Sprintf(format, args...)}
}
