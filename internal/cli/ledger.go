package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/hosts"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
	"github.com/cronce/cronce/ledger/postgres/migrate"
	"github.com/cronce/cronce/ledger/sqlite"
)

// databaseURL is the ledger's place: --db, else CRONCE_DATABASE_URL, else the
// embedded default.
func (a *app) databaseURL() string {
	if a.db != "" {
		return a.db
	}
	if url, set := a.lookup("CRONCE_DATABASE_URL"); set {
		return url
	}
	return "sqlite:cronce.db"
}

// engine tells the two kinds of ledger apart.
func engine(url string) (name, rest string, err error) {
	switch {
	case strings.TrimSpace(url) == "": // most come from another variable that is not set
		return "", "", usage("the variable CRONCE_DATABASE_URL is empty; give it a value, or unset it for sqlite:cronce.db")
	case strings.HasPrefix(url, "sqlite:"):
		path := strings.TrimPrefix(strings.TrimPrefix(url, "sqlite:"), "//")
		if path == "" {
			return "", "", usage("--db sqlite: needs a file's path, as in sqlite:cronce.db")
		}
		return "sqlite", path, nil
	case strings.HasPrefix(url, "postgres://"), strings.HasPrefix(url, "postgresql://"):
		return "postgres", url, checkPostgres(url)
	}
	return "", "", usage("the ledger (--db or CRONCE_DATABASE_URL) is neither sqlite:PATH nor postgres://...")
}

// checkPostgres refuses a URL that cannot be read, and hosts that cannot exist. It does
// not show the URL, which may have a password.
func checkPostgres(url string) error {
	named, err := postgres.Hosts(url)
	if err != nil {
		return &exit{exitUsage, err}
	}
	for _, host := range named {
		if !strings.HasPrefix(host, "/") && !hosts.Valid(host) {
			return usage("a host of the ledger's URL cannot exist: it must be a DNS name or an IP address (the value is not shown)")
		}
	}
	return nil
}

// openLedger opens the ledger and brings its tables up to date.
func (a *app) openLedger(ctx context.Context) (ledger.Store, error) {
	kind, rest, err := engine(a.databaseURL())
	if err != nil {
		return nil, err
	}
	if kind == "sqlite" {
		return open(sqlite.Open(ctx, rest, sqlite.Options{SkipMigrations: a.noMigrate, Now: a.now}))
	}
	if !a.noMigrate {
		if _, err := migrate.Up(ctx, rest); err != nil {
			return nil, err
		}
	}
	return open(postgres.Open(ctx, rest))
}

// open keeps a nil engine from becoming a store that is not nil.
func open[S ledger.Store](s S, err error) (ledger.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// existingLedger opens the ledger for a command that only looks at it or
// changes what is in it: an embedded one is not made on the way.
func (a *app) existingLedger(ctx context.Context) (ledger.Store, error) {
	if !a.ledgerExists() {
		return nil, a.noLedger()
	}
	return a.openLedger(ctx)
}

// operations opens what operators ask and do, on the ledger that there is.
func (a *app) operations(ctx context.Context) (*operations.Service, func(), error) {
	l, err := a.existingLedger(ctx)
	if err != nil {
		return nil, nil, err
	}
	return a.operationsOn(l), func() { l.Close() }, nil
}

func (a *app) operationsOn(l ledger.Store) *operations.Service {
	return operations.New(operations.Config{Ledger: l, Now: a.now, Registry: a.registry})
}

// ledgerToRead opens the ledger for a command that only looks at it: no tables
// are made or changed on the way.
func (a *app) ledgerToRead(ctx context.Context) (ledger.Store, error) {
	if !a.ledgerExists() {
		return nil, a.noLedger()
	}
	reader := *a
	reader.noMigrate = true
	return reader.openLedger(ctx)
}

// openPatiently opens the ledger, asking one that cannot be reached again for
// a while.
func (a *app) openPatiently(ctx context.Context, patience time.Duration, log *slog.Logger) (ledger.Store, error) {
	deadline := time.Now().Add(patience)
	for wait := 500 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		s, err := a.openLedger(ctx)
		switch {
		case err == nil:
			return s, nil
		case !errors.Is(err, ledger.ErrUnavailable) && engineOf(a.databaseURL()) == "sqlite": // the file is not a ledger, and another start does not make it one
			return nil, &exit{exitUsage, err}
		case !errors.Is(err, ledger.ErrUnavailable):
			return nil, err
		}
		if time.Now().Add(wait).After(deadline) {
			return nil, fmt.Errorf("giving up on the ledger after %s; is the database up, and is --db right? %w", patience, err)
		}
		log.Warn("ledger unreachable; retrying", "wait", wait.String(), "error", err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// ledgerIfAny is the ledger to read, nil where there is none yet.
func (a *app) ledgerIfAny(ctx context.Context) (ledger.Store, error) {
	if !a.ledgerExists() {
		return nil, nil
	}
	return a.ledgerToRead(ctx)
}

func (a *app) noLedger() error {
	return fmt.Errorf("there is no ledger at %s yet; \"cronce serve\" makes it, or name another one with --db", a.databaseURL())
}

// ledgerExists reports whether there is a ledger to ask; only an embedded one
// can be known to be absent.
func (a *app) ledgerExists() bool {
	kind, path, err := engine(a.databaseURL())
	if err != nil || kind != "sqlite" {
		return true
	}
	_, err = os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
