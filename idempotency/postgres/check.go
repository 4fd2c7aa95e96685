package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// privileges are what calls need of the table.
var privileges = []string{"SELECT", "INSERT", "UPDATE", "DELETE"}

// columns are the table's, each with the type that the migration gives it.
var columns = []struct{ name, kind string }{
	{"created_at", "timestamp with time zone"}, {"expires_at", "timestamp with time zone"}, {"key", "text"},
	{"locked_until", "timestamp with time zone"}, {"owner", "text"}, {"principal", "text"}, {"request_hash", "text"},
	{"response_body", "bytea"}, {"response_headers", "jsonb"}, {"response_status", "integer"}, {"scope", "text"}, {"state", "text"},
}

// tableState is the state of the table and of the server, as Check reads it.
type tableState struct {
	found, unique, standby bool
	isolation              string
	columns, missing, must []string
	rules                  []string // in the place of inserts
}

// Check implements [store.Checker].
func (s *Store) Check(ctx context.Context, _ time.Duration) error {
	var d tableState
	var names []string
	for _, c := range columns {
		names = append(names, c.name)
	}
	err := s.pool.QueryRow(ctx, `
WITH t AS (SELECT to_regclass($1) AS id)
SELECT t.id IS NOT NULL, pg_is_in_recovery(), current_setting('default_transaction_isolation'),
       EXISTS (SELECT FROM pg_index i WHERE i.indrelid = t.id AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indnkeyatts = 3
                 AND (SELECT count(*) FROM pg_attribute a WHERE a.attrelid = t.id AND a.attnum = ANY (i.indkey::int2[])
                        AND a.attname IN ('scope', 'principal', 'key')) = 3),
       ARRAY(SELECT attname::text FROM pg_attribute a WHERE a.attrelid = t.id AND attnum > 0 AND NOT attisdropped),
       ARRAY(SELECT p FROM unnest($2::text[]) p WHERE t.id IS NOT NULL AND NOT has_table_privilege(t.id, p)),
       ARRAY(SELECT attname::text FROM pg_attribute a WHERE a.attrelid = t.id AND attnum > 0 AND NOT attisdropped AND attnotnull
               AND NOT atthasdef AND attidentity = '' AND attname <> ALL ($3)),
       ARRAY(SELECT rulename::text FROM pg_rewrite r WHERE r.ev_class = t.id AND r.ev_type = '3' AND r.is_instead)
FROM t`, s.name, privileges, names).Scan(
		&d.found, &d.standby, &d.isolation, &d.unique, &d.columns, &d.missing, &d.must, &d.rules)
	if code, ok := refused(err); ok && code == "42501" {
		return fmt.Errorf("postgres: the role may not use the schema of %s: GRANT USAGE ON SCHEMA … TO it", s.name)
	}
	if err != nil {
		return unavailable("check the keys' table", err)
	}
	return s.problems(d)
}

// problems are one error for each thing that would fail calls.
func (s *Store) problems(d tableState) error {
	if !d.found {
		return fmt.Errorf("postgres: the table %s does not exist, or the role may not use its schema: make it (cronce migrate print "+
			"--set keys --engine postgres), or set Options.Schema and Options.Table", s.name)
	}
	var all []error
	add := func(format string, args ...any) { all = append(all, fmt.Errorf("postgres: "+format, args...)) }
	if d.standby {
		add("the server is a standby, which takes no keys: connect to the primary (target_session_attrs=read-write)")
	}
	for _, c := range columns {
		if !slices.Contains(d.columns, c.name) {
			add("the table %s has no column %q of type %s: create it with CreateTable or the migrations (set keys)", s.name, c.name, c.kind)
		}
	}
	if !d.unique {
		add("the table %s has no unique index on (key, principal, scope), without which a key may be stored twice: add it as PRIMARY KEY", s.name)
	}
	if len(d.missing) > 0 {
		add("the role may not %s the table %s: GRANT it", strings.Join(d.missing, ", "), s.name)
	}
	if len(d.must) > 0 {
		add("the columns %s of the table %s must not be null and have no default: the kit does not set them, so give them one",
			strings.Join(d.must, ", "), s.name)
	}
	if len(d.rules) > 0 {
		add("the rules %s of the table %s keep rows from being stored: drop them", strings.Join(d.rules, ", "), s.name)
	}
	if s.isolationDefault && d.isolation != string(pgx.ReadCommitted) {
		add("the role's default isolation is %s, and the kit's transactions are READ COMMITTED: set Options.Isolation to the one "+
			"that handlers need", d.isolation)
	}
	return errors.Join(all...)
}
