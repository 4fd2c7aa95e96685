package postgres

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// expired is the one expiry predicate, of the claim and of the purge alike. It
// reads the clock, not the transaction's start: a key that expires while a
// transaction is open is expired in it.
const expired = `expires_at <= clock_timestamp()`

// statements are the store's SQL, with its table put in.
type statements struct {
	begin, lock, join, look, reclaim, record string
	reserve, takeOver, settle, doubt, free   string
	accept, renew, abandon, resume, resumed  string
}

func newStatements(table string, isolation pgx.TxIsoLevel) statements {
	in := strings.NewReplacer("{{table}}", table, "{{expired}}", expired).Replace
	const key = `scope = $1 AND principal = $2 AND key = $3`
	return statements{
		begin: `BEGIN ISOLATION LEVEL ` + strings.ToUpper(string(isolation)) + ` READ WRITE`,

		// A statement of its own, before the look-up: the look-up's snapshot
		// must be younger than the lock, or it misses the row of a holder who
		// has just committed. $2 is MaxRun, after which the server ends a
		// statement (unless the session has it end sooner), a transaction that
		// waits for its process, and a connection whose client takes no data.
		// A transaction that has the lock gets its id at once, by which its fate is
		// told when its connection cannot tell it.
		lock: `SELECT transaction_timestamp(), CASE WHEN pg_try_advisory_xact_lock($1) THEN txid_current() END,
       CASE WHEN current_setting('statement_timeout') = '0'
              OR current_setting('statement_timeout')::interval > $2::text::bigint * interval '1 ms'
            THEN set_config('statement_timeout', $2, true) END,
       set_config('idle_in_transaction_session_timeout', $2, true), set_config('tcp_user_timeout', $2, true)`,

		// The same in a transaction that was handed in, which keeps its own
		// settings and may have begun long ago.
		join: `SELECT transaction_timestamp(), CASE WHEN pg_try_advisory_xact_lock($1) THEN txid_current() END, clock_timestamp(),
       current_setting('transaction_isolation'), current_setting('statement_timeout'), current_setting('role')`,

		// The predicates are null where the row has no such time.
		look: in(`SELECT state, request_hash, owner, response_status, response_headers, response_body, expires_at,
       {{expired}}, locked_until <= clock_timestamp() FROM {{table}} WHERE ` + key),

		reclaim: in(`DELETE FROM {{table}} WHERE ` + key + ` AND {{expired}}`),

		// It stores nothing in a transaction other than the one that was opened
		// ($11), because the work ended that. Where nothing was stored, for that
		// or because of a rule or a trigger, the last SELECT fails, and with it
		// the batch, before its COMMIT. Else it sets statement_timeout to $12: a
		// limit would end a commit's wait for its standby, with the work
		// committed here alone.
		record: in(`WITH stored AS (
  INSERT INTO {{table}} (scope, principal, key, request_hash, state, response_status, response_headers,
         response_body, owner, expires_at, created_at)
  SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11
  WHERE transaction_timestamp() = $11
  RETURNING true
)
SELECT set_config(CASE WHEN transaction_timestamp() = $11 THEN 'statement_timeout' ELSE 'the work ended the transaction' END,
                  CASE WHEN EXISTS (SELECT FROM stored) THEN $12 ELSE 'the table did not store the row' END, true)`),

		// The lock keeps the insert from waiting for work in a transaction.
		reserve: in(`INSERT INTO {{table}} AS k (scope, principal, key, request_hash, state, owner, locked_until, created_at)
SELECT $1, $2, $3, $4, 'calling', $5, clock_timestamp() + $6::bigint * interval '1 microsecond', clock_timestamp()
WHERE pg_try_advisory_xact_lock($7)
ON CONFLICT (scope, principal, key) DO UPDATE
SET request_hash = excluded.request_hash, state = 'calling', owner = excluded.owner, locked_until = excluded.locked_until,
    created_at = excluded.created_at, expires_at = NULL,
    response_status = NULL, response_headers = NULL, response_body = NULL
WHERE k.{{expired}}`),

		takeOver: in(`UPDATE {{table}}
SET state = 'calling', owner = $5, locked_until = clock_timestamp() + $6::bigint * interval '1 microsecond'
WHERE ` + key + ` AND request_hash = $4
  AND (state = 'unknown' OR (state = 'calling' AND locked_until <= clock_timestamp()))`),

		settle: in(`UPDATE {{table}}
SET state = $5, response_status = $6, response_headers = $7, response_body = $8, locked_until = NULL,
    expires_at = clock_timestamp() + $9::bigint * interval '1 microsecond'
WHERE ` + key + ` AND owner = $4 AND state = 'calling'
RETURNING expires_at`),

		doubt: in(`UPDATE {{table}} SET state = 'unknown', locked_until = NULL
WHERE ` + key + ` AND owner = $4 AND state = 'calling'`),

		// $6 is the lease, $7 the TTL after it, $8 the claim's send-before time.
		accept: in(`INSERT INTO {{table}} AS k (scope, principal, key, request_hash, state, owner, locked_until, created_at, expires_at)
SELECT $1, $2, $3, $4, 'accepted', $5, now + $6::bigint * interval '1 microsecond', now,
       now + ($6::bigint + $7::bigint) * interval '1 microsecond'
FROM (SELECT clock_timestamp() AS now) clock WHERE ($8::timestamptz IS NULL OR $8::timestamptz > now) AND pg_try_advisory_xact_lock($9)
ON CONFLICT (scope, principal, key) DO UPDATE
SET request_hash = excluded.request_hash, state = 'accepted', owner = excluded.owner, locked_until = excluded.locked_until,
    expires_at = excluded.expires_at, created_at = excluded.created_at, response_status = NULL, response_headers = NULL,
    response_body = CASE WHEN k.state = 'accepted' AND k.expires_at > clock_timestamp() THEN k.response_body END
WHERE k.{{expired}}
   OR (k.state = 'accepted' AND k.request_hash = excluded.request_hash AND k.locked_until <= clock_timestamp())`),

		renew: in(`UPDATE {{table}}
SET locked_until = clock_timestamp() + $5::bigint * interval '1 microsecond', response_body = $7,
    expires_at = clock_timestamp() + ($5::bigint + $6::bigint) * interval '1 microsecond'
WHERE ` + key + ` AND owner = $4 AND state = 'accepted'`),

		abandon: in(`DELETE FROM {{table}} WHERE ` + key + ` AND owner = $4 AND state = 'accepted'`),

		// It keeps the key from every other transaction until this one ends. If the work
		// ends it by a COMMIT of its own, the row says that the outcome is unknown.
		resume: in(`UPDATE {{table}}
SET state = 'omitted', response_status = 500, response_body = NULL, owner = 'claim:' || $4::text, locked_until = NULL,
    expires_at = clock_timestamp() + $5::bigint * interval '1 microsecond'
WHERE ` + key + ` AND owner = $4 AND state = 'accepted' RETURNING txid_current()`),

		// It makes room for the reply, in the transaction that was opened ($5) alone.
		resumed: in(`DELETE FROM {{table}} WHERE ` + key + ` AND owner = 'claim:' || $4::text AND state = 'omitted' AND transaction_timestamp() = $5`),

		free: in(`DELETE FROM {{table}} WHERE ` + key + ` AND owner = $4 AND state = 'calling'`),
	}
}

// milliseconds are a limit as the server's settings have it.
func milliseconds(limit time.Duration) string {
	return strconv.FormatInt(min(max(1, limit.Milliseconds()), math.MaxInt32), 10)
}
