// Package keystores opens the key stores of a registry for the purge: a store's
// URL, which is in the environment, says which engine it is.
package keystores

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/cronce/cronce/cleanup"
	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/mysql"
	"github.com/cronce/cronce/idempotency/postgres"
	"github.com/cronce/cronce/idempotency/sqlite"
	"github.com/cronce/cronce/jobs"
)

// Of lists the registry's key stores, in its order. Each is opened when it is
// purged, and its variable is read then.
func Of(reg *jobs.Registry, lookup func(string) (string, bool)) []cleanup.Store {
	var stores []cleanup.Store
	for _, s := range reg.KeyStores() {
		stores = append(stores, cleanup.Store{Name: s.Name, Open: func(ctx context.Context) (idempotency.Purger, func(), error) {
			url, ok := lookup(s.URLEnv)
			if !ok || url == "" {
				return nil, nil, fmt.Errorf("the environment variable %s is not set: the URL of the key store", s.URLEnv)
			}
			p, done, err := open(ctx, url, s.Schema)
			if err != nil {
				return nil, nil, fmt.Errorf("what %s names: %w", s.URLEnv, err)
			}
			return p, done, nil
		}})
	}
	return stores
}

// open never repeats the URL in an error.
func open(ctx context.Context, url, schema string) (idempotency.Purger, func(), error) {
	path, isFile := strings.CutPrefix(url, "sqlite:")
	switch {
	case isFile:
		return openFile(path)
	case strings.HasPrefix(url, "postgres://"), strings.HasPrefix(url, "postgresql://"):
		return opened(postgres.Open(ctx, url, postgres.Options{Schema: schema}))
	case strings.HasPrefix(url, "mysql://"), strings.Contains(url, "@tcp("), strings.Contains(url, "@unix("):
		o := mysql.Options{}
		if schema != "" {
			o.Table = schema + ".idempotency_keys"
		}
		return opened(mysql.Open(url, o))
	}
	return nil, nil, errors.New("it is neither postgres://..., mysql://... (or user:password@tcp(host:3306)/database), nor sqlite:PATH (its value is not shown)")
}

// opened keeps a nil store from becoming a Purger that is not nil.
func opened[S idempotency.Purger](s S, done func(), err error) (idempotency.Purger, func(), error) {
	if err != nil {
		return nil, nil, err
	}
	return s, done, nil
}

// openFile does not make a file that is not there.
func openFile(path string) (idempotency.Purger, func(), error) {
	if _, err := os.Stat(path); path == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil, errors.New("there is no such SQLite file; the service that keeps its keys in it makes it")
	}
	db, err := sqlite.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("open: %w", err)
	}
	return sqlite.New(db, sqlite.Options{}), func() { db.Close() }, nil
}
