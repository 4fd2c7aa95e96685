package targets

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/idempotency/ttl"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Lifetimes is how long a target says that it keeps idempotency keys.
type Lifetimes struct {
	all    time.Duration
	scopes map[string]time.Duration
}

// Of returns how long the target keeps the keys of a scope.
func (l Lifetimes) Of(scope string) time.Duration {
	if pattern, ok := ttl.Match(scope, maps.Keys(l.scopes)); ok {
		return l.scopes[pattern]
	}
	return l.all
}

// ErrNoLifetimes is returned for a target that does not say how long it keeps keys.
var ErrNoLifetimes = errors.New("the target does not say how long it keeps keys")

// Lifetimes asks a target how long it keeps keys, for a registry: it gets jobs.Key.Lifetime of the
// target, with the target's authorization. See idempotency.Kit.Lifetimes for the answer. Without a
// member scopes it is also that of the configuration of an Iceberg REST catalog.
func (t *Targets) Lifetimes(ctx context.Context, registry string, of jobs.Target) (Lifetimes, error) {
	to, ok := t.byName[of.Name]
	if !ok {
		return Lifetimes{}, fmt.Errorf("this process has no target %s", quoted(of.Name))
	}
	p := &probe{keep: true, edit: func(h http.Header) { h.Del(jobs.HeaderIdempotencyKey) }}
	a := t.attempt(ctx, to, executor.Call{Registry: registry, Work: ledger.Work{
		RunID: "check", JobID: "check", Attempt: 1,
		Call: ledger.CallSpec{Target: of.Name, Method: http.MethodGet, Path: cmp.Or(of.Key.Lifetime, ttl.LifetimesPath)},
	}}, p)
	switch {
	case a.Status == http.StatusNotFound, a.Status == http.StatusMethodNotAllowed:
		return Lifetimes{}, ErrNoLifetimes
	case a.Error != "":
		return Lifetimes{}, errors.New(a.Error)
	}
	return parseLifetimes(p.kept.Bytes())
}

func parseLifetimes(body []byte) (l Lifetimes, err error) {
	var said struct {
		Default string            `json:"idempotency-key-lifetime"`
		Scopes  map[string]string `json:"scopes"`
	}
	if err := json.Unmarshal(body, &said); err != nil || said.Default == "" {
		return l, ErrNoLifetimes
	}
	if l.all, err = ttl.ParseISO8601(said.Default); err != nil {
		return l, err
	}
	l.scopes = make(map[string]time.Duration, len(said.Scopes))
	for scope, text := range said.Scopes {
		if l.scopes[scope], err = ttl.ParseISO8601(text); err != nil {
			return l, err
		}
	}
	return l, nil
}
