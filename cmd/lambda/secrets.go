package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/cronce/cronce/internal/awssecrets"
)

const (
	// secretsRead bounds the reading of all secrets at a start, for which AWS gives 10 s.
	secretsRead = 5 * time.Second
	// secretsRenewal bounds it later: it takes time from an event.
	secretsRenewal = time.Second
	// secretsLife is the time for which secrets are kept before they are read again.
	secretsLife = 5 * time.Minute
	// secretsRetry is the wait before secrets that could not be read again are tried next.
	secretsRetry = time.Minute
)

// secrets is the environment, in which a variable may hold a reference to a
// secret instead of the secret. Each secret is read once and kept for secretsLife.
type secrets struct {
	env    func(string) (string, bool)
	client *awssecrets.Client
	log    *slog.Logger

	mu    sync.Mutex
	known map[awssecrets.Reference]secret
	// ctx bounds the reading under way; err is the first failure of it.
	ctx context.Context //nolint:containedctx // lookup's signature, which others call, has none
	err error
}

type secret struct {
	value string
	due   time.Time // when it is read again
}

func newSecrets(env func(string) (string, bool), log *slog.Logger) *secrets {
	return &secrets{
		env: env, client: &awssecrets.Client{Lookup: env, HTTP: &http.Client{Timeout: secretsRead}},
		log: log, known: map[awssecrets.Reference]secret{},
	}
}

// handler makes a handler from the environment, with its secrets.
func (s *secrets) handler(ctx context.Context) (*handler, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, secretsRead)
	defer cancel()
	s.ctx, s.err = ctx, nil
	h, err := newHandler(s.lookup, s.log)
	if s.err != nil { // it is the cause of whatever else is wrong
		return nil, ofKind(errSecret, s.err)
	}
	return h, err
}

// lookup reads a variable, and the secret that it refers to.
func (s *secrets) lookup(name string) (string, bool) {
	value, set := s.env(name)
	ref, is, err := awssecrets.Parse(value)
	if !is {
		return value, set
	}
	if err == nil {
		if known, have := s.known[ref]; have {
			return known.value, true
		}
		value, err = s.client.Get(s.ctx, ref)
	}
	if err != nil {
		if s.err == nil {
			s.err = fmt.Errorf("the environment variable %s: %w", name, err)
		}
		return "", false
	}
	s.known[ref] = secret{value, time.Now().Add(secretsLife)}
	return value, true
}

// changed reads the secrets again that are due, and reports whether one is another now.
// One that cannot be read is used as it was, and does not keep the others from being
// renewed: neither a secret that is gone, nor so many that they take several events.
func (s *secrets) changed(ctx context.Context) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, secretsRenewal)
	defer cancel()
	now, other := time.Now(), false
	for ref, known := range s.known {
		if now.Before(known.due) {
			continue
		}
		value, err := s.client.Get(ctx, ref)
		if err != nil {
			s.log.Warn("secret not refreshed; last value used", "error", err)
			value, known.due = known.value, now.Add(secretsRetry)
		} else {
			known.due = now.Add(secretsLife)
		}
		other = other || value != known.value
		s.known[ref] = secret{value, known.due}
	}
	return other
}
