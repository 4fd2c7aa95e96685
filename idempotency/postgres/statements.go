package postgres

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/idempotency/internal/pgkeys"
	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
)

// statements are the store's SQL for calls, with its table put in.
type statements struct {
	sqlkeys.Statements
	// Those of each call are sent without a map of values: it would cost a tenth.
	begin, lock, join, lookup, record string

	reclaim, insertKey, insert, accept, resume, resumed sqlkeys.Statement
}

// terms are pgx's, which sends times.
func terms(table string) sqlkeys.Terms {
	t := pgkeys.Terms(table)
	t.At = "CAST(%s AS timestamptz)"
	return t
}

// sql are the statements, made for the first call: a program that only purges needs none.
func (s *Store) sql() *statements {
	s.once.Do(func() { s.statements = newStatements(s.name, s.isolation) })
	return &s.statements
}

func newStatements(table string, isolation pgx.TxIsoLevel) statements {
	t := terms(table)
	return statements{
		Statements: t.Common(),
		begin:      `BEGIN ISOLATION LEVEL ` + strings.ToUpper(string(isolation)) + ` READ WRITE`,

		// A statement of its own, before the look-up: the look-up's snapshot
		// must be younger than the lock, or it misses the row of a holder who
		// has just committed. $2 is MaxRun, after which the server ends a
		// statement (unless the session has it end sooner), a transaction that
		// waits for its process, and a connection whose client takes no data.
		lock: `SELECT transaction_timestamp(), pg_try_advisory_xact_lock($1),
       CASE WHEN current_setting('statement_timeout') = '0'
              OR current_setting('statement_timeout')::interval > $2::text::bigint * interval '1 ms'
            THEN set_config('statement_timeout', $2, true) END,
       set_config('idle_in_transaction_session_timeout', $2, true), set_config('tcp_user_timeout', $2, true)`,

		// The same in a transaction that was handed in, which keeps its own
		// settings and may have begun long ago.
		join: `SELECT transaction_timestamp(), pg_try_advisory_xact_lock($1), clock_timestamp(),
       current_setting('transaction_isolation'), current_setting('statement_timeout'), current_setting('role')`,

		// Unlike the one of all engines, it has no row for a key without one.
		lookup: t.Statement(`SELECT ` + strings.ReplaceAll(sqlkeys.StatusColumns, ":sendbefore", "NULL") +
			` FROM {{table}} WHERE scope = $1 AND principal = $2 AND key = $3`).Text(),

		reclaim: t.Statement(`DELETE FROM {{table}} WHERE {{key}} AND {{expired}}`),

		// It stores nothing in a transaction other than the one that was opened
		// ($11), because the work ended that. Where nothing was stored, for that
		// or because of a rule or a trigger, the last SELECT fails, and with it
		// the batch, before its COMMIT. Else it sets statement_timeout to $12: a
		// limit would end a commit's wait for its standby, with the work
		// committed here alone.
		record: `WITH stored AS (
  INSERT INTO ` + table + ` (scope, principal, key, request_hash, state, response_status, response_headers,
         response_body, owner, expires_at, created_at)
  SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11
  WHERE transaction_timestamp() = $11
  RETURNING true
)
SELECT set_config(CASE WHEN transaction_timestamp() = $11 THEN 'statement_timeout' ELSE 'the work ended the transaction' END,
                  CASE WHEN EXISTS (SELECT FROM stored) THEN $12 ELSE 'the table did not store the row' END, true)`,

		insertKey: t.Statement(pgkeys.Claim + `transaction_timestamp() = CAST(:began AS timestamptz)` + pgkeys.Conflict),

		insert: t.Statement(pgkeys.Insert),

		// A row that another worker has lost keeps its progress.
		accept: t.Statement(`
INSERT INTO {{table}} AS k (scope, principal, key, request_hash, state, owner, locked_until, created_at, expires_at)
SELECT CAST(:scope AS text), CAST(:principal AS text), CAST(:key AS text), CAST(:hash AS text), 'accepted', CAST(:owner AS text),
       {{in :lease}}, {{now}}, {{in :ttl}}
WHERE COALESCE({{at :sendbefore}} > {{now}}, TRUE) AND ` + pgkeys.TryLock + `
ON CONFLICT (scope, principal, key) DO UPDATE
SET request_hash = excluded.request_hash, state = 'accepted', owner = excluded.owner, locked_until = excluded.locked_until,
    expires_at = excluded.expires_at, created_at = excluded.created_at, response_status = NULL, response_headers = NULL,
    response_body = CASE WHEN k.state = 'accepted' AND k.expires_at > {{now}} THEN k.response_body END
WHERE k.{{expired}} OR (k.state = 'accepted' AND k.request_hash = excluded.request_hash AND k.locked_until <= {{now}})`),

		resume: t.Statement(pgkeys.Resume + `TRUE`),

		// It makes room for the reply, in the transaction that was opened alone.
		resumed: t.Statement(`
DELETE FROM {{table}} WHERE {{key}} AND owner = :claim AND state = 'omitted' AND transaction_timestamp() = :began`),
	}
}

// milliseconds are a limit as the server's settings have it.
func milliseconds(limit time.Duration) string {
	return strconv.FormatInt(min(max(1, limit.Milliseconds()), math.MaxInt32), 10)
}
