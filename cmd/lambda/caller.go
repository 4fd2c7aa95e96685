package main

import (
	"context"
	"fmt"

	"github.com/cronce/cronce/cleanup"
	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/idempotency"
	keys "github.com/cronce/cronce/idempotency/postgres"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// caller makes the calls of a registry: over HTTP to its targets, in this
// process for the built-in job.
type caller struct {
	remote executor.Caller
	purge  executor.Caller
}

func (c *caller) Call(ctx context.Context, call executor.Call) executor.Answer {
	if call.Work.Call.Target == jobs.BuiltinTarget {
		return c.purge.Call(ctx, call)
	}
	return c.remote.Call(ctx, call)
}

// purge makes the calls of the built-in job: on the ledger, and on the key
// stores that are PostgreSQL. The drivers of the others would double the binary.
func (h *handler) purge(lookup func(string) (string, bool)) executor.Caller {
	var stores []cleanup.Store
	for _, s := range h.reg.KeyStores() {
		stores = append(stores, cleanup.Store{Name: s.Name, Open: func(ctx context.Context) (idempotency.Purger, func(), error) {
			url, _ := lookup(s.URLEnv)
			if !isPostgres(url) || lacksTypes(queryMode(url)) {
				return nil, nil, fmt.Errorf("what %s names is not postgres://..., or asks for the query mode exec or simple_protocol, and a Lambda purges no other key store; run cronce purge --store %s where it can be reached (the value is not shown)", s.URLEnv, s.Name)
			}
			return open(keys.Open(ctx, url, keys.Options{Schema: s.Schema}))
		}})
	}
	p := cleanup.New(h.reg, stores, runs{h})
	p.Logger = h.log
	return cleanup.Nightly{Purge: p}
}

// open keeps a nil store from becoming a Purger that is not nil.
func open(s *keys.Store, done func(), err error) (idempotency.Purger, func(), error) {
	if err != nil {
		return nil, nil, err
	}
	return s, done, nil
}

// runs is the ledger, opened when the purge's turn comes.
type runs struct{ h *handler }

func (r runs) PurgeRuns(ctx context.Context, p ledger.Purge) (ledger.Purged, error) {
	l, err := r.h.ledger.open(ctx)
	if err != nil {
		return ledger.Purged{}, err
	}
	return l.PurgeRuns(ctx, p)
}

func (r runs) PurgeHistory(ctx context.Context, p ledger.HistoryPurge) (ledger.PurgedHistory, error) {
	l, err := r.h.ledger.open(ctx)
	if err != nil {
		return ledger.PurgedHistory{}, err
	}
	return l.PurgeHistory(ctx, p)
}
