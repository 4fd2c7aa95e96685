package main

import (
	"context"
	"fmt"

	"github.com/cronce/cronce/cleanup"
	"github.com/cronce/cronce/executor"
	keys "github.com/cronce/cronce/idempotency/postgres"
	"github.com/cronce/cronce/idempotency/purge"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// caller makes the calls of a registry: over HTTP to its targets, in this
// process for the built-in job.
type caller struct {
	remote executor.Caller
	purge  executor.Caller
	mails  map[string]bool // the targets of channels of type email
}

// Call makes a call where its target is: on the ledger, nowhere for mail, or over HTTP.
func (c *caller) Call(ctx context.Context, call executor.Call) executor.Answer {
	if call.Work.Call.Target == jobs.BuiltinTarget {
		return c.purge.Call(ctx, call)
	}
	if c.mails[call.Work.Call.Target] {
		return noMail
	}
	return c.remote.Call(ctx, call)
}

// purge makes the calls of the built-in job: on the ledger, and on the key
// stores that are PostgreSQL. The drivers of the others would double the binary.
func (h *handler) purge(lookup func(string) (string, bool)) executor.Caller {
	var stores []cleanup.Store
	for _, s := range h.reg.KeyStores() {
		stores = append(stores, cleanup.Store{Name: s.Name, Open: func(ctx context.Context) (purge.Store, func(), error) {
			url, _ := lookup(s.URLEnv)
			return open(keys.Open(ctx, url, keys.Options{Schema: s.Schema}))
		}})
	}
	p := cleanup.New(h.reg, stores, runs{h})
	p.Logger = h.log
	return cleanup.Nightly{Purge: p}
}

// checkKeyStores refuses a key store that the nightly purge of this function cannot
// reach; the purge would fail night after night. A stateless function purges nothing.
func (h *handler) checkKeyStores(lookup func(string) (string, bool)) error {
	if purge, _ := h.reg.Job(jobs.PurgeJobID); purge.Disabled || h.ledger == nil {
		return nil
	}
	for _, s := range h.reg.KeyStores() {
		url, _ := lookup(s.URLEnv)
		switch mode := queryMode(url); {
		case !isPostgres(url):
			return fmt.Errorf("key store %q: %s is not postgres://..., and a Lambda purges no other key store; disable the purge in "+
				"this function's registry (cleanup: { enabled: false, reason: ... }) and run cronce purge --store %s where the store can "+
				"be reached (the value is not shown)", s.Name, s.URLEnv, s.Name)
		case lacksTypes(mode):
			return fmt.Errorf("key store %q: %s asks for default_query_exec_mode=%s, which this binary is built without; leave it out, "+
				"or write cache_describe", s.Name, s.URLEnv, mode)
		}
		if err := checkHosts(url); err != nil {
			return fmt.Errorf("key store %q: %s: %w", s.Name, s.URLEnv, err)
		}
	}
	return nil
}

// open keeps a nil store from becoming a purge.Store that is not nil.
func open(s *keys.Store, done func(), err error) (purge.Store, func(), error) {
	if err != nil {
		return nil, nil, err
	}
	return s, done, nil
}

// runs is the ledger, opened when the purge's turn comes.
type runs struct{ h *handler }

// PurgeRuns opens the ledger, if it is not open, and deletes a batch of runs.
func (r runs) PurgeRuns(ctx context.Context, p ledger.Purge) (ledger.Purged, error) {
	l, err := r.h.ledger.open(ctx)
	if err != nil {
		return ledger.Purged{}, err
	}
	return l.PurgeRuns(ctx, p)
}

// PurgeHistory opens the ledger, if it is not open, and deletes a batch of its history.
func (r runs) PurgeHistory(ctx context.Context, p ledger.HistoryPurge) (ledger.PurgedHistory, error) {
	l, err := r.h.ledger.open(ctx)
	if err != nil {
		return ledger.PurgedHistory{}, err
	}
	return l.PurgeHistory(ctx, p)
}
