package sqlite

import (
	"strings"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
)

// now is ?1 of every statement, in the unit of every time in the table:
// milliseconds since 1970. SQLite has no clock of its own. Its functions ask the
// machine's as Go does, with a call of the system each.
func now() int64 { return time.Now().UnixMilli() }

// keyed are a statement's values: the time, the key's columns, and more.
func keyed(k idempotency.Key, more ...any) []any {
	return append([]any{now(), k.Scope, k.Principal, k.Value}, more...)
}

// expiry is when the key of work that is done now is forgotten.
func expiry(c idempotency.Claim) time.Time { return sqlkeys.Time(now() + c.TTL.Milliseconds()) }

// expired is the one expiry predicate, of the claim and of the purge alike.
const expired = `expires_at <= ?1`

// statements are the store's SQL, with its table put in.
type statements struct {
	look, record, reserve, takeOver, settle, doubt, free string
	batch, count                                         string
}

// The work is done in a savepoint of a transaction; in one that was handed in,
// so is all that belongs to the key, or a reply that cannot be stored would leave
// the work's effects there.
const (
	begin    = `BEGIN IMMEDIATE`
	mark     = `SAVEPOINT idempotent_work`
	unmark   = `RELEASE idempotent_work`
	commit   = `COMMIT`
	rollback = `ROLLBACK`
	enter    = `SAVEPOINT idempotent_claim`
	leave    = `RELEASE idempotent_claim`
	undo     = `ROLLBACK TO idempotent_claim; ` + leave
)

func newStatements(table string) statements {
	in := strings.NewReplacer("{{table}}", table, "{{expired}}", expired,
		"{{key}}", "scope = ?2 AND principal = ?3 AND key = ?4").Replace
	return statements{
		// No row: none that is live.
		look: in(`
SELECT state, request_hash, owner, response_status, response_headers, response_body,
       expires_at, 0, coalesce(locked_until <= ?1, 0), 0
FROM {{table}} WHERE {{key}} AND ({{expired}}) IS NOT TRUE`),

		// ?5 hash, ?6 owner, ?7 expiry, ?8 state, ?9 status, ?10 headers, ?11 body.
		// A row that is in the way is an expired one, and is reclaimed. What it
		// came to is told by the number of rows: RETURNING would make a table
		// for them first.
		record: in(`
INSERT INTO {{table}} (scope, principal, key, request_hash, owner, created_at, expires_at,
                       state, response_status, response_headers, response_body)
VALUES (?2, ?3, ?4, ?5, ?6, ?1, ?7, ?8, ?9, ?10, ?11)
ON CONFLICT (scope, principal, key) DO UPDATE
SET request_hash = excluded.request_hash, state = excluded.state, response_status = excluded.response_status,
    response_headers = excluded.response_headers, response_body = excluded.response_body, owner = excluded.owner,
    locked_until = NULL, created_at = excluded.created_at, expires_at = excluded.expires_at
WHERE {{expired}}`),

		// ?5 hash, ?6 owner, ?7 lease.
		reserve: in(`
INSERT INTO {{table}} (scope, principal, key, request_hash, state, owner, locked_until, created_at)
VALUES (?2, ?3, ?4, ?5, 'calling', ?6, ?1 + ?7, ?1)
ON CONFLICT (scope, principal, key) DO UPDATE
SET request_hash = excluded.request_hash, state = 'calling', owner = excluded.owner, locked_until = excluded.locked_until,
    created_at = excluded.created_at, expires_at = NULL,
    response_status = NULL, response_headers = NULL, response_body = NULL
WHERE {{expired}}`),

		// ?5 hash, ?6 owner, ?7 lease.
		takeOver: in(`
UPDATE {{table}} SET state = 'calling', owner = ?6, locked_until = ?1 + ?7
WHERE {{key}} AND request_hash = ?5
  AND (state = 'unknown' OR (state = 'calling' AND locked_until <= ?1))`),

		// ?5 owner, ?6 expiry, ?7 state, ?8 status, ?9 headers, ?10 body.
		settle: in(`
UPDATE {{table}}
SET state = ?7, response_status = ?8, response_headers = ?9, response_body = ?10, locked_until = NULL,
    expires_at = ?6
WHERE {{key}} AND owner = ?5 AND state = 'calling'`),

		// ?5 owner.
		doubt: in(`
UPDATE {{table}} SET state = 'unknown', locked_until = NULL
WHERE {{key}} AND owner = ?5 AND state = 'calling'`),

		free: in(`
DELETE FROM {{table}} WHERE {{key}} AND owner = ?5 AND state = 'calling'`),

		// ?2 scope or '', ?3 after, ?4 limit. The index on expires_at gives the
		// order, and where to go on.
		batch: in(`
DELETE FROM {{table}} WHERE (scope, principal, key) IN (
  SELECT scope, principal, key FROM {{table}}
  WHERE {{expired}} AND expires_at >= ?3 AND (?2 = '' OR scope = ?2)
  ORDER BY expires_at LIMIT ?4)
RETURNING scope, expires_at`),

		// ?2 scope or ''.
		count: in(`SELECT scope, count(*) FROM {{table}} WHERE {{expired}} AND (?2 = '' OR scope = ?2) GROUP BY scope`),
	}
}
