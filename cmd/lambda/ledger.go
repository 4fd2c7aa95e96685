package main

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
	"github.com/cronce/cronce/ledger/postgres"
)

// database is the ledger that CRONCE_DATABASE_URL names. It is opened when it
// is first needed and kept: a database that is down fails events, each to be
// delivered again, and not the function's start.
type database struct {
	url string

	mu     sync.Mutex
	opened *postgres.Ledger
}

// newDatabase checks what kind of ledger a URL names. The URL may hold a
// password, so no error repeats it.
func newDatabase(url string) (*database, error) {
	switch {
	case strings.HasPrefix(url, "postgres://"), strings.HasPrefix(url, "postgresql://"):
		return &database{url: url}, nil
	case strings.HasPrefix(url, "sqlite:"):
		return nil, fmt.Errorf("CRONCE_DATABASE_URL names a SQLite file, which a Lambda loses with its machine and shares with nobody; name a PostgreSQL ledger (postgres://...), or unset it to run stateless")
	}
	return nil, fmt.Errorf("CRONCE_DATABASE_URL is not postgres://...; name a PostgreSQL ledger, or unset it to run stateless")
}

// open connects at the first call, and again after a call that failed.
func (d *database) open(ctx context.Context) (*postgres.Ledger, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.opened != nil {
		return d.opened, nil
	}
	// The pool outlives the event that opened it.
	l, err := postgres.Open(context.WithoutCancel(ctx), d.url, postgres.PoolSize(1), postgres.ApplicationName("cronce lambda"))
	if err != nil {
		return nil, err
	}
	d.opened = l
	return l, nil
}

// stateless is a ledger of one event's own, in memory. Since it does not know
// of earlier deliveries, a run's last moment to be sent is counted from its
// instant, which all deliveries share, and not from the first lease.
type stateless struct{ *memory.Ledger }

var _ executor.Ledger = stateless{}

func newStateless() stateless { return stateless{memory.New()} }

// Enter is the memory ledger's, with that moment in the work.
func (s stateless) Enter(ctx context.Context, e ledger.Entry) (ledger.Entered, error) {
	got, err := s.Ledger.Enter(ctx, e)
	if got.Work != nil {
		sendBefore(got.Work)
	}
	return got, err
}

// Claim is the memory ledger's, with that moment in the work.
func (s stateless) Claim(ctx context.Context, c ledger.Claim) (ledger.Claimed, error) {
	got, err := s.Ledger.Claim(ctx, c)
	for i := range got.Work {
		sendBefore(&got.Work[i])
	}
	return got, err
}

func sendBefore(w *ledger.Work) {
	if !w.ScheduledAt.Equal(timeless) {
		w.SendBefore = w.ScheduledAt.Add(w.Call.Horizon)
	}
}
