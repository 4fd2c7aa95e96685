// Package keystores opens the key stores of a registry for the purge: a store's
// URL, which is in the environment, determines the engine.
package keystores

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/cronce/cronce/cleanup"
	"github.com/cronce/cronce/idempotency/mysql"
	"github.com/cronce/cronce/idempotency/postgres"
	"github.com/cronce/cronce/idempotency/purge"
	"github.com/cronce/cronce/idempotency/sqlite"
	"github.com/cronce/cronce/internal/hosts"
	"github.com/cronce/cronce/jobs"
)

// Of lists the registry's key stores, in its order. Each is opened when it is
// purged, and its variable is read then.
func Of(reg *jobs.Registry, lookup func(string) (string, bool)) []cleanup.Store {
	var stores []cleanup.Store
	for _, s := range reg.KeyStores() {
		stores = append(stores, cleanup.Store{Name: s.Name, Open: func(ctx context.Context) (purge.Store, func(), error) {
			address, ok := lookup(s.URLEnv)
			if !ok || address == "" {
				return nil, nil, fmt.Errorf("the environment variable %s is not set: the URL of the key store", s.URLEnv)
			}
			p, done, err := open(ctx, address, s.Schema)
			if err != nil {
				return nil, nil, fmt.Errorf("the key store in the environment variable %s: %w", s.URLEnv, err)
			}
			return p, done, nil
		}})
	}
	return stores
}

// Check reports the key stores whose address in the environment cannot be read.
// It connects to none. Variables that are not set are jobs.Registry.CheckEnv's.
func Check(reg *jobs.Registry, lookup func(string) (string, bool)) (problems jobs.Problems) {
	if reg.Cleanup().DisabledBecause != "" {
		return nil
	}
	for i, s := range reg.KeyStores() {
		address, _ := lookup(s.URLEnv)
		if address == "" {
			continue
		}
		if err := checkAddress(address); err != nil {
			problems = append(problems, reg.KeyStoreProblem(i, jobs.CodeBadURL, fmt.Sprintf(
				"the environment variable %s does not hold the address of a key store: %v", s.URLEnv, err)))
		}
	}
	return problems
}

// checkAddress never repeats the address in an error.
func checkAddress(address string) error {
	path, isFile := strings.CutPrefix(address, "sqlite:")
	switch {
	case isFile && path == "":
		return errors.New("sqlite: needs a file's path, as in sqlite:/var/lib/keys.db")
	case path == ":memory:":
		return errors.New("sqlite: a database in memory has no keys of a service; name the file in which the service keeps " +
			"them, as in sqlite:/var/lib/keys.db")
	case isFile:
		return nil
	case isPostgres(address):
		return cmp.Or(checkHosts(address), postgres.CheckURL(address))
	case isMySQL(address):
		_, done, err := mysql.Open(address, mysql.Options{}) // connects to nothing yet
		if err != nil {
			return err
		}
		done()
		return checkHosts(address)
	}
	return errEngine
}

// checkHosts refuses hosts and ports that cannot exist.
func checkHosts(address string) error {
	_, list, isDSN := strings.Cut(address, "@tcp(")
	if isDSN {
		list, _, _ = strings.Cut(list, ")")
	} else if u, err := url.Parse(address); err == nil {
		list = u.Host
	}
	if list == "" { // the driver's default, or a socket
		return nil
	}
	for at := range strings.SplitSeq(list, ",") {
		u, err := url.Parse("//" + at)
		if err != nil || !hosts.Valid(u.Hostname()) || !hosts.ValidPort(u.Port()) {
			return errors.New("its host or port cannot exist: the host must be a DNS name or an IP address, the port 1 to 65535")
		}
	}
	return nil
}

var errEngine = errors.New("it is neither postgres://..., mysql://... (or user:password@tcp(host:3306)/database), nor " +
	"sqlite:PATH (its value is not shown)")

func isPostgres(address string) bool {
	return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://")
}

func isMySQL(address string) bool {
	return strings.HasPrefix(address, "mysql://") || strings.Contains(address, "@tcp(") || strings.Contains(address, "@unix(")
}

// open never repeats the URL in an error.
func open(ctx context.Context, address, schema string) (purge.Store, func(), error) {
	path, isFile := strings.CutPrefix(address, "sqlite:")
	switch {
	case isFile:
		return openFile(path)
	case isPostgres(address):
		return opened(postgres.Open(ctx, address, postgres.Options{Schema: schema}))
	case isMySQL(address):
		o := mysql.Options{}
		if schema != "" {
			o.Table = schema + ".idempotency_keys"
		}
		return opened(mysql.Open(address, o))
	}
	return nil, nil, errEngine
}

// opened keeps a nil store from becoming a purge.Store that is not nil.
func opened[S purge.Store](s S, done func(), err error) (purge.Store, func(), error) {
	if err != nil {
		return nil, nil, err
	}
	return s, done, nil
}

// openFile does not make a file that is not there.
func openFile(path string) (purge.Store, func(), error) {
	if _, err := os.Stat(path); path == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil, errors.New("the SQLite file does not exist; the service that stores its keys in it creates it")
	}
	db, err := sqlite.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("open: %w", err)
	}
	return sqlite.New(db, sqlite.Options{}), func() { db.Close() }, nil
}
