package pgkeys

import "github.com/cronce/cronce/idempotency/internal/sqlkeys"

// Began is the transaction's own time in microseconds, by which it is known again.
const Began = `CAST(extract(epoch FROM transaction_timestamp()) * 1000000 AS bigint)`

// TryLock takes the key's lock, which keeps an insert from waiting for another holder.
const TryLock = `pg_try_advisory_xact_lock(:lock)`

// Claim goes on with a condition and with [Conflict]. Until the transaction ends, the row says
// of the work what [Resume] says.
const Claim = `
INSERT INTO {{table}} AS k (scope, principal, key, request_hash, state, response_status, owner, created_at, expires_at)
SELECT CAST(:scope AS text), CAST(:principal AS text), CAST(:key AS text), CAST(:hash AS text), 'omitted', 500, CAST(:claim AS text),
       {{now}}, {{in :ttl}}
WHERE `

// Conflict goes on from an insert into {{table}} AS k: the row takes the place of an
// expired one.
const Conflict = `
ON CONFLICT (key, principal, scope) DO UPDATE
SET request_hash = excluded.request_hash, state = excluded.state, response_status = excluded.response_status,
    response_headers = excluded.response_headers, response_body = excluded.response_body, owner = excluded.owner,
    locked_until = excluded.locked_until, created_at = excluded.created_at, expires_at = excluded.expires_at
WHERE k.{{expired}}`

// Insert takes the key under a lease. The insert meets the row of a holder who has
// committed meanwhile, which a look-up in the same statement would miss.
const Insert = `
INSERT INTO {{table}} AS k (scope, principal, key, request_hash, state, owner, locked_until, created_at, expires_at)
SELECT CAST(:scope AS text), CAST(:principal AS text), CAST(:key AS text), CAST(:hash AS text), CAST(:state AS text), CAST(:owner AS text),
       {{in :lease}}, {{now}}, {{in :ttl}}
WHERE ` + TryLock + Conflict + ` {{ondisk}}`

// Resume takes the accepted row. Until the transaction ends, the row says that the outcome
// of the work is unknown, as after a COMMIT of the work's own.
const Resume = `
UPDATE {{table}} SET state = 'omitted', response_status = 500, response_body = NULL, owner = :claim,
       locked_until = NULL, expires_at = {{in :ttl}}
WHERE {{key}} AND owner = :owner AND state = 'accepted' RETURNING `

// Terms are PostgreSQL's, for the quoted name of the table with its schema. The clock is
// not the transaction's start: a key that expires while one is open is expired in it.
func Terms(table string) sqlkeys.Terms {
	return sqlkeys.Terms{Table: table, Key: "key", Numbered: true, Now: "clock_timestamp()",
		In:        "clock_timestamp() + CAST(%s AS bigint) * interval '1 ms'",
		At:        "to_timestamp(CAST(%s AS bigint) / 1000.0)",
		Since1970: "CAST(floor(extract(epoch FROM %s) * 1000) AS bigint)",
		ReadText:  "CAST(%s AS text)", WriteText: "CAST(%s AS jsonb)",
		OnDisk: "RETURNING CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'local', true) END"}
}

// Count ends its walk of the index at the statement's time, which {{expired}} cannot give
// it: that clock moves.
const Count = `
SELECT scope, count(*) FROM {{table}}
WHERE {{expired}} AND expires_at <= statement_timestamp() AND (CAST(:only AS text) = '' OR scope = :only) GROUP BY scope`
