package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/cronce/cronce/internal/hosts"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
)

// database is the ledger that CRONCE_DATABASE_URL names. It is opened when it
// is first needed and kept: a database that is down fails events, each to be
// delivered again, and not the function's start.
type database struct {
	url      string
	registry string // that the ledger must belong to

	mu     sync.Mutex
	opened *postgres.Ledger
}

// newDatabase checks what kind of ledger a URL names. The URL may hold a
// password, so no error repeats it.
func newDatabase(dsn, registry string) (*database, error) {
	switch {
	case isPostgres(dsn):
		if mode := queryMode(dsn); lacksTypes(mode) {
			return nil, fmt.Errorf("CRONCE_DATABASE_URL asks for default_query_exec_mode=%s, which this binary is built without; leave "+
				"it out, or write cache_describe, which prepares no statements by name either", mode)
		}
		if err := checkHosts(dsn); err != nil {
			return nil, fmt.Errorf("CRONCE_DATABASE_URL: %w", err)
		}
		return &database{url: dsn, registry: registry}, nil
	case strings.HasPrefix(dsn, "sqlite:"):
		return nil, fmt.Errorf("CRONCE_DATABASE_URL names a SQLite file, which a Lambda cannot share and loses with its machine; " +
			"name a PostgreSQL ledger (postgres://...), or unset it to run stateless")
	}
	return nil, fmt.Errorf("CRONCE_DATABASE_URL is not postgres://...; name a PostgreSQL ledger, or unset it to run stateless")
}

// checkHosts refuses a URL that no function can connect to, which would fail one
// event after the other.
func checkHosts(dsn string) error {
	if strings.ContainsFunc(dsn, unicode.IsSpace) {
		return errors.New("the URL holds white space, perhaps a trailing newline; store it without (the value is not shown)")
	}
	named, err := postgres.Hosts(dsn)
	if err != nil {
		return err
	}
	for _, host := range named {
		switch {
		case strings.HasPrefix(host, "/"):
			return errors.New("the URL names no host, or a socket, and a Lambda has no database beside it; write " +
				"postgres://user:password@host:5432/database?sslmode=verify-full")
		case !hosts.Valid(host):
			return errors.New("the URL's host cannot exist; it must be a DNS name or an IP address (the value is not shown)")
		}
	}
	return nil
}

// isPostgres reports whether a URL names a PostgreSQL database.
func isPostgres(dsn string) bool {
	return strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://")
}

// queryMode returns how a URL has pgx send its statements; "" is pgx's default. The
// URL is not parsed whole: one that names several hosts is none to net/url.
func queryMode(dsn string) string {
	_, query, _ := strings.Cut(dsn, "?")
	values, _ := url.ParseQuery(query)
	return values.Get("default_query_exec_mode")
}

// lacksTypes reports whether a mode needs pgx's table of Go types, which
// scripts/build-lambda leaves out: 1.4 MB. The other modes ask the database.
func lacksTypes(mode string) bool { return mode == "exec" || mode == "simple_protocol" }

// open connects at the first call, and again after a call that failed, for as long
// as there is time.
func (d *database) open(ctx context.Context) (*postgres.Ledger, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.opened != nil {
		return d.opened, nil
	}
	err := retryUnavailable(ctx, func() (err error) {
		return once(ctx, func(ctx context.Context) error { // ctx bounds the opening alone; the pool outlives the event
			d.opened, err = postgres.Open(ctx, d.url, postgres.PoolSize(1), postgres.IdleTime(idleTime),
				postgres.Registry(d.registry), postgres.ApplicationName("cronce lambda"),
				postgres.Around(func(r ledger.Rows) ledger.Rows { return bounded{r} }))
			return err
		})
	})
	return d.opened, err
}

// idleTime is the time for which a connection is kept while a call is under way.
const idleTime = 2 * time.Second

// release closes the event's connection: a frozen environment would keep it from
// others, and find it dead when it thaws.
func (d *database) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.opened != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		d.opened.CloseIdleConnections(ctx)
	}
}

// close ends the connections, of which no event has one.
func (d *database) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.opened != nil {
		_ = d.opened.Close()
		d.opened = nil
	}
}

// newStateless returns a ledger of one event's own. Since it does not know of earlier
// deliveries, a run's last moment to be sent is counted from its scheduled time, which all
// deliveries share, and not from the first lease.
func newStateless() *ledger.Single {
	return &ledger.Single{Now: time.Now, FirstSent: func(e ledger.Entry, lease time.Time) time.Time {
		if e.ScheduledAt.Equal(timeless) {
			return lease
		}
		return e.ScheduledAt
	}}
}
