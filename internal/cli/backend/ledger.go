package backend

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/hosts"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
	"github.com/cronce/cronce/ledger/postgres/migrate"
	"github.com/cronce/cronce/ledger/sqlite"
)

// DatabaseURL returns the ledger's URL: --db, else CRONCE_DATABASE_URL, else the embedded default.
func (b *Backend) DatabaseURL() string {
	if b.DB != "" {
		return b.DB
	}
	if url, set := b.Lookup("CRONCE_DATABASE_URL"); set {
		return url
	}
	return "sqlite:cronce.db"
}

// Engine returns the kind of ledger that a URL names, "sqlite" or "postgres", and the path or the URL by which it is
// opened. Its errors do not show the URL, which may have a password.
func Engine(url string) (name, rest string, err error) {
	switch {
	case strings.TrimSpace(url) == "": // most come from another variable that is not set
		return "", "", command.Usage("the variable CRONCE_DATABASE_URL is empty; give it a value, or unset it for sqlite:cronce.db")
	case strings.HasPrefix(url, "sqlite:"):
		path := strings.TrimPrefix(strings.TrimPrefix(url, "sqlite:"), "//")
		if path == "" {
			return "", "", command.Usage("--db sqlite: needs a file's path, as in sqlite:cronce.db")
		}
		return "sqlite", path, nil
	case strings.HasPrefix(url, "postgres://"), strings.HasPrefix(url, "postgresql://"):
		return "postgres", url, checkPostgres(url)
	}
	return "", "", command.Usage("invalid --db or CRONCE_DATABASE_URL; use sqlite:PATH or postgres://...")
}

// checkPostgres refuses a URL that cannot be read, and hosts that cannot exist. It does
// not show the URL, which may have a password.
func checkPostgres(url string) error {
	named, err := postgres.Hosts(url)
	if err != nil {
		return command.Usage("%w", err)
	}
	for _, host := range named {
		if !strings.HasPrefix(host, "/") && !hosts.Valid(host) {
			return command.Usage("a host of the ledger's URL cannot exist: it must be a DNS name or an IP address (the value is not shown)")
		}
	}
	return nil
}

// OpenLedger opens the ledger and brings its tables up to date.
func (b *Backend) OpenLedger(ctx context.Context) (ledger.Store, error) {
	return b.openAt(ctx, b.NoMigrate)
}

// openAt opens the ledger. Unless noMigrate is set, it first creates its tables or brings them up to date.
func (b *Backend) openAt(ctx context.Context, noMigrate bool) (ledger.Store, error) {
	kind, rest, err := Engine(b.DatabaseURL())
	if err != nil {
		return nil, err
	}
	if kind == "sqlite" {
		return open(sqlite.Open(ctx, rest, sqlite.Options{SkipMigrations: noMigrate, Now: b.Now}))
	}
	if !noMigrate {
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

// ExistingLedger opens the ledger for a command that looks at it or changes what it has. It does not create an embedded
// one: a mistyped path must not become an empty ledger.
func (b *Backend) ExistingLedger(ctx context.Context) (ledger.Store, error) {
	if !b.LedgerExists() {
		return nil, b.NoLedger()
	}
	return b.OpenLedger(ctx)
}

// Operations opens the existing ledger and returns the queries and actions on it, with a function that closes it.
func (b *Backend) Operations(ctx context.Context) (*operations.Service, func(), error) {
	l, err := b.ExistingLedger(ctx)
	if err != nil {
		return nil, nil, err
	}
	return b.OperationsOn(l), func() { l.Close() }, nil
}

// OperationsOn returns the queries and actions of operators, on a ledger.
func (b *Backend) OperationsOn(l ledger.Store) *operations.Service {
	return operations.New(operations.Config{Ledger: l, Now: b.Now, Registry: b.Registry})
}

// LedgerToRead opens the ledger for a command that only looks at it: no tables
// are made or changed on the way.
func (b *Backend) LedgerToRead(ctx context.Context) (ledger.Store, error) {
	if !b.LedgerExists() {
		return nil, b.NoLedger()
	}
	return b.openAt(ctx, true)
}

// OpenWithin opens the ledger. It retries for up to limit while the ledger cannot be reached.
func (b *Backend) OpenWithin(ctx context.Context, limit time.Duration, log *slog.Logger) (ledger.Store, error) {
	deadline := time.Now().Add(limit)
	for wait := 500 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		s, err := b.OpenLedger(ctx)
		switch {
		case err == nil:
			return s, nil
		// the file is not a ledger, and another start does not make it one
		case !errors.Is(err, ledger.ErrUnavailable) && EngineOf(b.DatabaseURL()) == "sqlite":
			return nil, command.Usage("%w", err)
		case !errors.Is(err, ledger.ErrUnavailable):
			return nil, err
		}
		if time.Now().Add(wait).After(deadline) {
			return nil, fmt.Errorf("giving up on the ledger after %s; is the database up, and is --db right? %w", limit, err)
		}
		log.Warn("ledger unreachable; retrying", "wait", wait.String(), "error", err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// LedgerIfAny opens the ledger as LedgerToRead does, and returns nil if it does not exist yet.
func (b *Backend) LedgerIfAny(ctx context.Context) (ledger.Store, error) {
	if !b.LedgerExists() {
		return nil, nil
	}
	return b.LedgerToRead(ctx)
}

// NoLedger returns the error of a command that needs a ledger that does not exist yet.
func (b *Backend) NoLedger() error {
	return fmt.Errorf("the ledger %s does not exist yet; \"cronce serve\" makes it, and --db names another one", b.DatabaseURL())
}

// LedgerExists reports whether there is a ledger to ask; only an embedded one
// can be known to be absent.
func (b *Backend) LedgerExists() bool {
	kind, path, err := Engine(b.DatabaseURL())
	if err != nil || kind != "sqlite" {
		return true
	}
	_, err = os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// EngineOf returns the kind of ledger that a URL names, or "".
func EngineOf(url string) string {
	kind, _, _ := Engine(url)
	return kind
}
