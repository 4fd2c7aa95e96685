package pgsql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cronce/cronce/idempotency/internal/advisory"
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

	lock, join, fate, record, missing, insert, resume, purge sqlkeys.Statement
}

func newDialect(names Options) *dialect {
	table := quote(names.Schema) + "." + quote(names.Table)
	t := sqlkeys.Terms{Table: table, Key: "key", Numbered: true, Now: "clock_timestamp()",
		In:        "clock_timestamp() + CAST(%s AS bigint) * interval '1 ms'",
		At:        "to_timestamp(CAST(%s AS bigint) / 1000.0)",
		Since1970: "CAST(floor(extract(epoch FROM %s) * 1000) AS bigint)",
		ReadText:  "CAST(%s AS text)", WriteText: "CAST(%s AS jsonb)",
		OnDisk: "RETURNING CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'local', true) END"}
	// The transaction's own time, by which it is known again.
	const began = `CAST(extract(epoch FROM transaction_timestamp()) * 1000000 AS bigint)`
	const conflict = `
ON CONFLICT (key, principal, scope) DO UPDATE
SET request_hash = excluded.request_hash, state = excluded.state, response_status = excluded.response_status,
    response_headers = excluded.response_headers, response_body = excluded.response_body, owner = excluded.owner,
    locked_until = excluded.locked_until, created_at = excluded.created_at, expires_at = excluded.expires_at
WHERE k.{{expired}}`
	common := t.Common()
	// The server refuses to plan it without the unique index.
	common.Checks = append(common.Checks, t.Statement(`
INSERT INTO {{table}} SELECT * FROM {{table}} WHERE {{key}} ON CONFLICT (key, principal, scope) DO NOTHING`))
	return &dialect{
		names: names, table: table, common: common,
		// A statement of its own, before the look-up: the look-up's snapshot must
		// be younger than the lock, or it misses the row of a holder who has just
		// committed. After :maxrun the server ends a statement (unless the session
		// has it end sooner), a transaction that waits for its process, and a
		// connection whose client takes no data. A transaction that may do the work
		// gets its id at once, by which its fate is told when its connection is lost.
		lock: t.Statement(`
SELECT ` + began + `, 'read committed', held,
       CASE WHEN held AND NOT EXISTS (SELECT FROM {{table}} WHERE {{key}} AND NOT COALESCE({{expired}}, FALSE)) THEN txid_current() END
FROM (SELECT set_config('statement_timeout', CAST(CAST(1000 * extract(epoch FROM
         least(nullif(CAST(current_setting('statement_timeout') AS interval), '0'), CAST(:maxrun AS bigint) * interval '1 ms'))
         AS bigint) AS text), true) IS NOT NULL
       AND set_config('idle_in_transaction_session_timeout', CAST(CAST(:maxrun AS bigint) AS text), true) IS NOT NULL
       AND set_config('tcp_user_timeout', CAST(CAST(:maxrun AS bigint) AS text), true) IS NOT NULL
       AND pg_try_advisory_xact_lock(:lock) AS held) locked`),
		// The same in a transaction that was handed in, which keeps its own settings.
		join: t.Statement(`
SELECT ` + began + `, current_setting('transaction_isolation'), pg_try_advisory_xact_lock(:lock), NULL`),
		fate: t.Statement(`SELECT txid_status(CAST(:id AS bigint)) = 'committed'`),

		// It sets the work's limit off: that would end a commit's wait for its
		// standby, with the work committed here alone.
		record: t.Statement(`
INSERT INTO {{table}} AS k (scope, principal, key, request_hash, state, response_status, response_headers, response_body,
       owner, created_at, expires_at)
SELECT CAST(:scope AS text), CAST(:principal AS text), CAST(:key AS text), CAST(:hash AS text), CAST(:state AS text),
       CAST(:status AS integer), {{write :headers}}, CAST(:body AS bytea), CAST(:owner AS text), {{now}}, {{in :ttl}}
WHERE ` + began + ` = CAST(:began AS bigint)` + conflict + ` OR (k.owner = 'claim:' || CAST(:owner AS text) AND k.state = 'omitted')
RETURNING {{ms expires_at}}, CASE WHEN NOT CAST(:joined AS boolean) THEN set_config('statement_timeout', '0', true) END`),
		// Why nothing was stored.
		missing: t.Statement(`
SELECT ` + began + ` = CAST(:began AS bigint), EXISTS (SELECT FROM {{table}} WHERE {{key}})`),

		insert: t.Statement(`
INSERT INTO {{table}} AS k (scope, principal, key, request_hash, state, owner, locked_until, created_at, expires_at)
VALUES (:scope, :principal, :key, :hash, :state, :owner, {{in :lease}}, {{now}}, {{in :ttl}})` + conflict + ` {{ondisk}}`),

		// It keeps the key from every other transaction until this one ends. If the work
		// ends it by a COMMIT of its own, the row says that the outcome is unknown.
		resume: t.Statement(`
UPDATE {{table}} SET state = 'omitted', response_status = 500, response_body = NULL, owner = 'claim:' || CAST(:owner AS text),
       locked_until = NULL, expires_at = {{in :ttl}}
WHERE {{key}} AND owner = :owner AND state = 'accepted' RETURNING txid_current()`),

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

// savepoint tells later whether the work has ended the transaction.
const savepoint = "idempotent_work"

func (d *dialect) Package() string                { return name }
func (d *dialect) Statements() sqlkeys.Statements { return d.common }
func (d *dialect) Options() *sql.TxOptions        { return &sql.TxOptions{Isolation: sql.LevelReadCommitted} }
func (d *dialect) Savepoint(store.Claim) string   { return "idempotent_claim" }

// Open implements [sqlkeys.Dialect]: the settings are the transaction's.
func (d *dialect) Open(context.Context, *sql.Conn, time.Duration) (func(context.Context) error, error) {
	return nil, nil
}

// Claim implements [sqlkeys.Dialect]. A found record counts even when the lock
// was not got, since then its holder is only another reader.
func (d *dialect) Claim(ctx context.Context, tx *sql.Tx, c store.Claim, joined bool) (sqlkeys.Claimed, store.KeyStatus, error) {
	v := d.opening(c)
	lock := d.lock
	if joined {
		lock = d.join
	}
	t := claimed{dialect: d}
	var isolation string
	var held bool
	if err := lock.Row(ctx, tx, v).Scan(&t.began, &isolation, &held, &t.id); err != nil {
		return t, store.KeyStatus{}, err
	}
	if isolation != "read committed" {
		return t, store.KeyStatus{}, fmt.Errorf("the transaction handed in is %s, in which it cannot be seen who was first with a key: begin it READ COMMITTED", isolation)
	}
	look, _, err := sqlkeys.ScanStatus(d.common.Lookup.Row(ctx, tx, v))
	if look.Held = held; err == nil && held && look.Record == nil {
		_, err = tx.ExecContext(ctx, `SAVEPOINT `+savepoint)
	}
	return t, look, err
}

// opening are the values of a transaction's first statement.
func (d *dialect) opening(c store.Claim) sqlkeys.Values {
	v := sqlkeys.Of(c)
	v["lock"], v["maxrun"] = advisory.Lock(d.table, c.Key), max(1, c.MaxRun.Milliseconds())
	return v
}

// Insert implements [sqlkeys.Dialect].
func (d *dialect) Insert(ctx context.Context, tx *sql.Tx, v sqlkeys.Values) (bool, error) {
	return d.insert.Changed(ctx, tx, v)
}

// Resume implements [sqlkeys.Dialect].
func (d *dialect) Resume(ctx context.Context, tx *sql.Tx, c store.Claim) (sqlkeys.Claimed, bool, error) {
	v := d.opening(c)
	t := claimed{dialect: d}
	if err := d.lock.Row(ctx, tx, v).Scan(&t.began, new(string), new(bool), &t.id); err != nil {
		return t, false, err
	}
	err := d.resume.Row(ctx, tx, v).Scan(&t.id)
	if errors.Is(err, sql.ErrNoRows) {
		return t, false, nil
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, `SAVEPOINT `+savepoint)
	}
	return t, err == nil, err
}

// claimed is a key whose lock the transaction has.
type claimed struct {
	*dialect
	began int64
	id    sql.NullInt64 // of the transaction; null: it is the caller's
}

// Stands implements [sqlkeys.Claimed].
func (d claimed) Stands(ctx context.Context, q sqlkeys.Querier, _ store.Claim) bool {
	var committed sql.NullBool
	err := d.fate.Row(ctx, q, sqlkeys.Values{"id": d.id}).Scan(&committed)
	return err == nil && committed.Bool
}

// Record implements [sqlkeys.Claimed]. It stores nothing in any transaction but
// the one that was begun.
func (d claimed) Record(ctx context.Context, tx *sql.Tx, c store.Claim, r store.Reply, joined bool) (time.Time, error) {
	v := sqlkeys.Of(c)
	if err := v.Reply(r); err != nil {
		return time.Time{}, err
	}
	v["began"], v["joined"] = d.began, joined
	var expires int64
	err := d.record.Row(ctx, tx, v).Scan(&expires, new(any))
	if errors.Is(err, sql.ErrNoRows) {
		err = d.why(ctx, tx, v)
	}
	return sqlkeys.Time(expires), err
}

// why tells why no row was stored.
func (d claimed) why(ctx context.Context, tx *sql.Tx, v sqlkeys.Values) error {
	var same, there bool
	switch err := d.missing.Row(ctx, tx, v).Scan(&same, &there); {
	case err != nil:
		return err
	case !same:
		return store.ErrTxEnded
	case there:
		return store.ErrLostRace
	}
	return errors.New("the server has stored no row: a rule, a trigger or a policy of the table prevents that; remove it")
}

// Left implements [sqlkeys.Claimed]. It can be told of an aborted transaction
// too.
func (d claimed) Left(ctx context.Context, tx *sql.Tx, _ bool) bool {
	_, err := tx.ExecContext(ctx, `ROLLBACK TO SAVEPOINT `+savepoint)
	return d.Means(err) == sqlkeys.NoSavepoint
}

// Purge implements [sqlkeys.Dialect].
func (d *dialect) Purge(ctx context.Context, tx *sql.Tx, p purge.Batch) (purge.Removed, error) {
	// A batch that a crash of the server loses is removed again by the next purge.
	if _, err := tx.ExecContext(ctx, `SET LOCAL synchronous_commit = off`); err != nil {
		return purge.Removed{}, err
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
		problems = append(problems, fmt.Errorf("pgsql: the columns %s of the table %s must not be null and have no default: the kit does not set them, so give them one", columns, d.table))
	}
	if isolation == "read committed" {
		return problems
	}
	return append(problems, fmt.Errorf("pgsql: the sessions' default isolation is %s, and the kit's transactions are READ COMMITTED: use package postgres, whose Options.Isolation runs the work in a stricter one, or set default_transaction_isolation to 'read committed' for this pool", isolation))
}

// sqlState is what the errors of pgx and of lib/pq have in common.
type sqlState interface{ SQLState() string }

// Advice implements [sqlkeys.Dialect].
func (d *dialect) Advice(err error) string {
	var state sqlState
	if errors.As(err, &state) && state.SQLState() == advisory.OutOfMemory {
		return advisory.Room
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
