package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Open makes a store on a small pool of its own, for a program that only maintains
// the keys of a service, such as a purge. Without Options.Schema the table is where
// the connection's search path finds it, else in "cronce". No error shows the URL.
// close ends the pool.
func Open(ctx context.Context, url string, o Options) (s *Store, close func(), err error) {
	config, err := parse(url)
	if err != nil {
		return nil, nil, err
	}
	config.MaxConns = 2
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, nil, unavailable("open", err)
	}
	if o.Schema, err = schemaOf(ctx, pool, o); err != nil {
		pool.Close()
		return nil, nil, err
	}
	return New(pool, o), pool.Close, nil
}

// CheckURL reports whether Open could read the URL, without connecting. No
// error shows it.
func CheckURL(url string) error {
	_, err := parse(url)
	return err
}

func parse(url string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		// The parser's own message quotes the URL.
		return nil, errors.New("the URL cannot be read: it should look like postgres://user:password@host:5432/database?sslmode=verify-full")
	}
	config.ConnConfig.RuntimeParams["client_encoding"] = "UTF8"
	if config.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeSimpleProtocol {
		// It needs standard_conforming_strings. This mode prepares no statements by name either.
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	return config, nil
}

// schemaOf finds the table.
func schemaOf(ctx context.Context, pool *pgxpool.Pool, o Options) (string, error) {
	table := cmp.Or(o.Table, "idempotency_keys")
	var schema string
	err := pool.QueryRow(ctx, `
SELECT coalesce(min(nspname), '')
FROM (
  SELECT nspname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
  WHERE relname = $1 AND (nspname = $2 OR $2 = '' AND (pg_table_is_visible(pg_class.oid) OR nspname = 'cronce'))
  ORDER BY pg_table_is_visible(pg_class.oid) DESC LIMIT 1
) found`, table, o.Schema).Scan(&schema)
	switch {
	case err != nil:
		return "", unavailable("find the keys' table", err)
	case schema == "":
		return "", fmt.Errorf("table %s not found in schema %s; create it (migrate print --set keys), or set its schema",
			table, cmp.Or(o.Schema, "cronce or in the search path"))
	}
	return schema, nil
}
