package pgsql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cronce/cronce/idempotency/internal/pgkeys"
	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
	"github.com/cronce/cronce/idempotency/keytable"
	"github.com/cronce/cronce/idempotency/purge"
	"github.com/cronce/cronce/idempotency/store"
)

// dialect is how PostgreSQL keeps keys.
type dialect struct {
	names  Options
	table  string // quoted, with its schema: the namespace of the locks
	common sqlkeys.Statements

	isolation, claim, join, held, began, record sqlkeys.Statement
	insert, resume, purge                       sqlkeys.Statement
}

func newDialect(names Options) *dialect {
	table := quote(names.Schema) + "." + quote(names.Table)
	t := pgkeys.Terms(table)
	common := t.Common()
	common.Count = t.Statement(pgkeys.Count)
	// The server refuses to plan it without the unique index.
	common.Checks = append(common.Checks, t.Statement(`
INSERT INTO {{table}} (key) SELECT key FROM {{table}} WHERE {{key}} ON CONFLICT (key, principal, scope) DO NOTHING`))
	// After :maxrun the server ends a statement (unless the session has it end
	// sooner), a transaction that waits for its process, and a connection whose
	// client takes no data.
	const limited = `
      set_config('statement_timeout', CAST(CAST(1000 * extract(epoch FROM
        least(nullif(CAST(current_setting('statement_timeout') AS interval), '0'), CAST(:maxrun AS bigint) * interval '1 ms'))
        AS bigint) AS text), true) IS NOT NULL
  AND set_config('idle_in_transaction_session_timeout', CAST(CAST(:maxrun AS bigint) AS text), true) IS NOT NULL
  AND set_config('tcp_user_timeout', CAST(CAST(:maxrun AS bigint) AS text), true) IS NOT NULL`
	claim := func(condition string) sqlkeys.Statement {
		return t.Statement(pgkeys.Claim + condition + pgkeys.Conflict + `
RETURNING ` + pgkeys.Began + `, COALESCE({{at :sendbefore}} <= {{now}}, FALSE)`)
	}
	return &dialect{
		names: names, table: table, common: common,
		isolation: t.Statement(`SELECT current_setting('transaction_isolation')`),
		claim:     claim(limited + ` AND ` + pgkeys.TryLock),
		join:      claim(pgkeys.TryLock), // a transaction that was handed in keeps its settings
		held:      t.Statement(`SELECT ` + pgkeys.TryLock),
		began:     t.Statement(`SELECT ` + pgkeys.Began),

		// It sets the work's limit off: that would end a commit's wait for its
		// standby, with the work committed here alone.
		record: t.Statement(`
UPDATE {{table}} SET state = :state, response_status = :status, response_headers = {{write :headers}}, response_body = :body,
       owner = :owner, expires_at = {{in :ttl}}
WHERE {{key}} AND owner = :claim AND state = 'omitted' AND ` + pgkeys.Began + ` = CAST(:began AS bigint)
RETURNING {{ms expires_at}}, CASE WHEN NOT CAST(:joined AS boolean) THEN set_config('statement_timeout', '0', true) END`),

		insert: t.Statement(pgkeys.Insert),
		resume: t.Statement(pgkeys.Resume + pgkeys.Began + `, ` + limited + `, ` + pgkeys.TryLock + ` IS NOT NULL`),

		// Rows that somebody has locked are left out. The index can end at the
		// statement's time, which {{expired}} cannot give it: that clock moves.
		purge: t.Statement(`
WITH doomed AS (
  SELECT ctid FROM {{table}}
  WHERE {{expired}} AND expires_at <= statement_timestamp() AND expires_at >= {{at :after}}
    AND (CAST(:only AS text) = '' OR scope = :only)
  ORDER BY expires_at LIMIT :limit FOR UPDATE SKIP LOCKED
)
DELETE FROM {{table}} WHERE ctid = ANY (ARRAY(SELECT ctid FROM doomed)) AND {{expired}}
RETURNING scope, {{ms expires_at}}`),
	}
}

func (d *dialect) Package() string                { return name }
func (d *dialect) Statements() sqlkeys.Statements { return d.common }
func (d *dialect) Options() *sql.TxOptions        { return &sql.TxOptions{Isolation: sql.LevelReadCommitted} }

// Open implements [sqlkeys.Dialect]: the settings are the transaction's.
func (d *dialect) Open(context.Context, *sql.Conn, time.Duration) (func(context.Context) error, error) {
	return nil, nil
}

// Claim implements [sqlkeys.Dialect]. The row says what is known of work that
// commits by itself and of which nothing else is heard: that it was begun. It
// expires as a reply does. A record that is found counts even when another
// transaction has the lock, since that is then only another reader.
func (d *dialect) Claim(
	ctx context.Context, q sqlkeys.Querier, c store.Claim, joined bool,
) (t sqlkeys.Claimed, status store.KeyStatus, err error) {
	v, claim := d.values(c), d.claim
	taken := claimed{dialect: d}
	if joined {
		claim = d.join
		var isolation string
		if err = d.isolation.Row(ctx, q, v).Scan(&isolation); err != nil {
			return taken, status, err
		}
		if isolation != "read committed" {
			return taken, status, fmt.Errorf("the transaction handed in is %s, in which it cannot be seen who was first with a key: "+
				"begin it READ COMMITTED", isolation)
		}
	}
	for range 2 { // the row that was in the way may be gone
		err = claim.Row(ctx, q, v).Scan(&taken.began, &status.TooLate)
		if !errors.Is(err, sql.ErrNoRows) {
			status.Held = err == nil
			return taken, status, err
		}
		var held bool
		status, _, err = sqlkeys.ScanStatus(d.common.Lookup.Row(ctx, q, v))
		if err == nil && status.Record == nil {
			err = d.held.Row(ctx, q, v).Scan(&held)
		}
		if err != nil || !held {
			return taken, status, err
		}
	}
	return taken, status, errNotStored
}

var errNotStored = errors.New("the server has stored no row: a rule, a trigger or a policy of the table prevents that; remove it")

// values are those of a claim's statements.
func (d *dialect) values(c store.Claim) sqlkeys.Values {
	v := sqlkeys.Of(c)
	v["lock"], v["maxrun"] = pgkeys.Lock(d.table, c.Key), max(1, c.MaxRun.Milliseconds())
	return v
}

// Insert implements [sqlkeys.Dialect].
func (d *dialect) Insert(ctx context.Context, q sqlkeys.Querier, c store.Claim, v sqlkeys.Values) (bool, error) {
	v["lock"] = pgkeys.Lock(d.table, c.Key)
	return d.insert.Changed(ctx, q, v)
}

// Resume implements [sqlkeys.Dialect].
func (d *dialect) Resume(ctx context.Context, q sqlkeys.Querier, c store.Claim) (sqlkeys.Claimed, bool, error) {
	t := claimed{dialect: d}
	err := d.resume.Row(ctx, q, d.values(c)).Scan(&t.began, new(bool), new(bool))
	if errors.Is(err, sql.ErrNoRows) {
		return t, false, nil
	}
	return t, err == nil, err
}

// claimed is a key whose row the transaction has placed.
type claimed struct {
	*dialect
	began int64
}

// Record implements [sqlkeys.Claimed]. It stores nothing in any transaction but
// the one that was begun.
func (d claimed) Record(ctx context.Context, q sqlkeys.Querier, c store.Claim, r store.Reply, joined bool) (time.Time, error) {
	v := d.values(c)
	if err := v.Reply(r); err != nil {
		return time.Time{}, err
	}
	v["began"], v["joined"] = d.began, joined
	var expires int64
	err := d.record.Row(ctx, q, v).Scan(&expires, new(any))
	if errors.Is(err, sql.ErrNoRows) {
		err = errNotStored
		if in, asked := d.in(ctx, q); asked == nil && !in {
			err = store.ErrTxEnded
		}
	}
	return sqlkeys.Time(expires), err
}

// in reports whether the transaction is the one that was begun.
func (d claimed) in(ctx context.Context, q sqlkeys.Querier) (bool, error) {
	var began int64
	err := d.dialect.began.Row(ctx, q, nil).Scan(&began)
	return began == d.began, err
}

// EndedByWork implements [sqlkeys.Claimed]. An aborted transaction tells nothing; if the
// work has committed before, its row stands.
func (d claimed) EndedByWork(ctx context.Context, q sqlkeys.Querier, _ bool) (ended, undone bool) {
	in, err := d.in(ctx, q)
	return err == nil && !in, false
}

// Purge implements [sqlkeys.Dialect].
func (d *dialect) Purge(ctx context.Context, tx *sql.Tx, p purge.Batch) (purge.BatchResult, error) {
	// A batch that a crash of the server loses is removed again by the next purge.
	if _, err := tx.ExecContext(ctx, `SET LOCAL synchronous_commit = off`); err != nil {
		return purge.BatchResult{}, err
	}
	return sqlkeys.Removed(ctx, tx, d.purge, p)
}

// Create implements [sqlkeys.Dialect].
func (d *dialect) Create() ([]string, error) {
	return keytable.Create("postgres", d.names.Schema, d.names.Table)
}

// Check implements [sqlkeys.Dialect].
func (d *dialect) Check(ctx context.Context, conn *sql.Conn) (problems []error) {
	var isolation, rules, columns string
	if err := conn.QueryRowContext(ctx, `
SELECT current_setting('default_transaction_isolation'),
       (SELECT COALESCE(string_agg(rulename, ', '), '') FROM pg_rewrite r WHERE r.ev_class = t.id AND r.ev_type = '3' AND r.is_instead),
       (SELECT COALESCE(string_agg(attname, ', '), '') FROM pg_attribute a WHERE a.attrelid = t.id AND attnum > 0 AND NOT attisdropped
          AND attnotnull AND NOT atthasdef AND attidentity = '' AND attname NOT IN ('scope', 'principal', 'key', 'request_hash', 'state',
          'response_status', 'response_headers', 'response_body', 'owner', 'locked_until', 'created_at', 'expires_at'))
FROM (SELECT to_regclass($1) AS id) t`, d.table).Scan(&isolation, &rules, &columns); err != nil {
		return []error{err}
	}
	if rules != "" {
		problems = append(problems, fmt.Errorf("pgsql: the rules %s of the table %s keep rows from being stored: drop them", rules, d.table))
	}
	if columns != "" {
		problems = append(problems, fmt.Errorf("pgsql: the columns %s of the table %s must not be null and have no default: the kit "+
			"does not set them, so give them one", columns, d.table))
	}
	if isolation == "read committed" {
		return problems
	}
	return append(problems, fmt.Errorf("pgsql: the sessions' default isolation is %s, and the kit's transactions are READ "+
		"COMMITTED: use package postgres, whose Options.Isolation runs the work in a stricter one, or set "+
		"default_transaction_isolation to 'read committed' for this pool", isolation))
}

// sqlState is what the errors of pgx and of lib/pq have in common.
type sqlState interface{ SQLState() string }

// Advice implements [sqlkeys.Dialect].
func (d *dialect) Advice(err error) string {
	var state sqlState
	if errors.As(err, &state) && state.SQLState() == pgkeys.OutOfMemory {
		return pgkeys.Room
	}
	return ""
}

// Means implements [sqlkeys.Dialect].
func (d *dialect) Means(err error) sqlkeys.Meaning {
	var state sqlState
	if !errors.As(err, &state) {
		return sqlkeys.Unavailable
	}
	switch code := state.SQLState(); {
	case code == "3B001" || code == "25P01": // invalid_savepoint_specification, no_active_sql_transaction
		return sqlkeys.NoSavepoint
	case code == "40001" || code == "40P01": // serialization_failure, deadlock_detected
		return sqlkeys.Victim
	case code == "25P02" || strings.HasPrefix(code, "23"): // in_failed_sql_transaction, a (deferred) constraint
		return sqlkeys.Refused
	}
	return sqlkeys.Unavailable
}
