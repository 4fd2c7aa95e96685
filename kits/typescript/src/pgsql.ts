// The SQL of the store on PostgreSQL. It is that of the Go kit, on the same table.

const COLUMNS = `scope, principal, key, request_hash, state, response_status, response_headers, response_body,
       owner, locked_until, created_at, expires_at`;

/** The transaction's own time in microseconds, by which it is known again. */
const BEGAN = `CAST(extract(epoch FROM transaction_timestamp()) * 1000000 AS bigint)`;

/** The one expiry predicate. It reads the clock, not the transaction's start. */
const EXPIRED = `expires_at <= clock_timestamp()`;

const KEY = `scope = $1 AND principal = $2 AND key = $3`;

const from = (time: string, parameter: string) => `${time} + CAST(${parameter} AS bigint) * interval '1 ms'`;
const later = (parameter: string) => from("clock_timestamp()", parameter);
const since1970 = (column: string) => `CAST(floor(extract(epoch FROM ${column}) * 1000) AS bigint)`;
const at = (parameter: string) => `to_timestamp(CAST(${parameter} AS bigint) / 1000.0)`;

/** The owner of a row of long work whose transaction is open. */
const claimant = (owner: string) => `'claim:' || CAST(${owner} AS text)`;

export type Statements = ReturnType<typeof statements>;

/** statements are the store's SQL, for the quoted name of its table. */
export function statements(table: string) {
  const look = (more: string) => `
SELECT state, request_hash, owner, response_status, CAST(response_headers AS text), encode(response_body, 'base64'),
       ${since1970("expires_at")}, COALESCE(${EXPIRED}, FALSE), COALESCE(locked_until <= clock_timestamp(), FALSE),
       COALESCE(${at("$4")} <= clock_timestamp(), FALSE)${more}
FROM (SELECT 1) one LEFT JOIN ${table} ON ${KEY}`;
  const conflict = `
ON CONFLICT (key, principal, scope) DO UPDATE
SET request_hash = excluded.request_hash, state = excluded.state, response_status = excluded.response_status,
    response_headers = excluded.response_headers, response_body = excluded.response_body, owner = excluded.owner,
    locked_until = excluded.locked_until, created_at = excluded.created_at, expires_at = excluded.expires_at
WHERE k.${EXPIRED}`;
  return {
    // The lock is taken by a statement of its own, before the look-up: the
    // look-up's snapshot must be younger than the lock, or it misses the row of a
    // holder who has just committed. After maxRunMs the server ends a statement, a
    // transaction that waits for its process, and a connection whose client takes
    // no data. The savepoint tells later whether the work has ended the transaction.
    begin: (lock: bigint, maxRunMs: number) => `
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SELECT ${BEGAN}, pg_try_advisory_xact_lock(${lock}),
       CASE current_setting('statement_timeout') WHEN '0' THEN set_config('statement_timeout', '${maxRunMs}', true) END,
       set_config('idle_in_transaction_session_timeout', '${maxRunMs}', true), set_config('tcp_user_timeout', '${maxRunMs}', true);
SAVEPOINT idempotent_work`,

    look: look(""),

    // A transaction that may do the work gets its ID at once, by which its fate is
    // told when its connection is lost.
    claim: look(`, CASE WHEN state IS NULL OR ${EXPIRED} THEN txid_current() END`),

    fate: `SELECT txid_status(CAST($1 AS bigint)) = 'committed'`,

    // It stores nothing in a transaction other than the one that was opened. It
    // sets the work's limit off: that would end a commit's wait for its standby,
    // with the work committed here alone.
    record: `
INSERT INTO ${table} AS k (scope, principal, key, request_hash, state, response_status, response_headers, response_body,
       owner, created_at, expires_at)
SELECT CAST($1 AS text), CAST($2 AS text), CAST($3 AS text), CAST($4 AS text), CAST($5 AS text), CAST($6 AS integer),
       CAST($7 AS jsonb), decode($8, 'base64'), CAST($9 AS text), clock_timestamp(), ${later("$10")}
WHERE ${BEGAN} = CAST($11 AS bigint)${conflict} OR (k.owner = ${claimant("$9")} AND k.state = 'omitted')
RETURNING ${since1970("expires_at")}, set_config('statement_timeout', '0', true)`,

    // Why nothing was stored.
    missing: `SELECT ${BEGAN} = CAST($4 AS bigint), EXISTS (SELECT FROM ${table} WHERE ${KEY})`,

    // A crash of the server must not forget the key: the call was made.
    beginReserve: `
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SELECT set_config('synchronous_commit', 'local', true) WHERE current_setting('synchronous_commit') = 'off'`,

    reserve: `
INSERT INTO ${table} AS k (scope, principal, key, request_hash, state, owner, locked_until, created_at)
VALUES ($1, $2, $3, $4, 'calling', $5, ${later("$6")}, clock_timestamp())${conflict}`,

    takeOver: `
UPDATE ${table} SET state = 'calling', owner = $5, locked_until = ${later("$6")}
WHERE ${KEY} AND request_hash = $4
  AND (state = 'unknown' OR (state = 'calling' AND locked_until <= clock_timestamp()))`,

    settle: `
UPDATE ${table}
SET state = $5, response_status = CAST($6 AS integer), response_headers = CAST($7 AS jsonb), response_body = decode($8, 'base64'),
    locked_until = NULL, expires_at = ${later("$9")}
WHERE ${KEY} AND owner = $4 AND state = 'calling'
RETURNING ${since1970("expires_at")}`,

    doubt: `
UPDATE ${table} SET state = 'unknown', locked_until = NULL WHERE ${KEY} AND owner = $4 AND state = 'calling'`,

    free: `DELETE FROM ${table} WHERE ${KEY} AND owner = $4 AND state = 'calling'`,

    // A row that another worker has lost keeps its progress.
    accept: `
INSERT INTO ${table} AS k (scope, principal, key, request_hash, state, owner, locked_until, created_at, expires_at)
SELECT CAST($1 AS text), CAST($2 AS text), CAST($3 AS text), CAST($4 AS text), 'accepted', CAST($5 AS text),
       ${from("now", "$6")}, now, ${from("now", "$7")}
FROM (SELECT clock_timestamp() AS now) clock WHERE CAST($8 AS bigint) IS NULL OR ${at("$8")} > now
ON CONFLICT (key, principal, scope) DO UPDATE
SET request_hash = excluded.request_hash, state = 'accepted', owner = excluded.owner, locked_until = excluded.locked_until,
    expires_at = excluded.expires_at, created_at = excluded.created_at, response_status = NULL, response_headers = NULL,
    response_body = CASE WHEN k.state = 'accepted' AND k.expires_at > clock_timestamp() THEN k.response_body END
WHERE k.${EXPIRED}
   OR (k.state = 'accepted' AND k.request_hash = excluded.request_hash AND k.locked_until <= clock_timestamp())`,

    renew: `
UPDATE ${table} SET locked_until = ${later("$5")}, expires_at = ${later("$6")}, response_body = decode($7, 'base64')
WHERE ${KEY} AND owner = $4 AND state = 'accepted'`,

    abandon: `DELETE FROM ${table} WHERE ${KEY} AND owner = $4 AND state = 'accepted'`,

    // It keeps the key from every other transaction until this one ends. If the work
    // ends it by a COMMIT of its own, the row says that the outcome is unknown.
    resume: `
UPDATE ${table} SET state = 'omitted', response_status = 500, response_body = NULL, owner = ${claimant("$4")},
       locked_until = NULL, expires_at = ${later("$5")}
WHERE ${KEY} AND owner = $4 AND state = 'accepted' RETURNING txid_current()`,

    // Rows that somebody has locked are left out. The index can end at the
    // statement's time, which the expiry predicate cannot give it: that clock moves.
    purge: `
WITH doomed AS (
  SELECT ctid FROM ${table}
  WHERE ${EXPIRED} AND expires_at <= statement_timestamp() AND expires_at >= ${at("$2")}
    AND (CAST($1 AS text) IS NULL OR scope = $1)
  ORDER BY expires_at LIMIT $3 FOR UPDATE SKIP LOCKED
)
DELETE FROM ${table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM doomed)) AND ${EXPIRED}
RETURNING scope, ${since1970("expires_at")}`,

    count: `
SELECT scope, count(*) FROM ${table} WHERE ${EXPIRED} AND (CAST($1 AS text) IS NULL OR scope = $1) GROUP BY scope`,

    // Statements without effect, for each of which the server wants the table, its
    // columns, its unique index and one privilege.
    checks: [
      `SELECT ${COLUMNS} FROM ${table} WHERE false`,
      `INSERT INTO ${table} (${COLUMNS}) SELECT ${COLUMNS} FROM ${table} WHERE false ON CONFLICT (key, principal, scope) DO NOTHING`,
      `UPDATE ${table} SET owner = owner WHERE false`,
      `DELETE FROM ${table} WHERE false`,
    ],
    isolation: `SELECT current_setting('default_transaction_isolation'), pg_is_in_recovery()`,
  };
}

/** createTable is the migration of the table, as `cronce migrate print --set keys --engine postgres` prints it. */
export const createTable = (schema: string, table: string, index: string) => `
CREATE TABLE IF NOT EXISTS ${schema}.${table} (
  scope            text COLLATE "C" NOT NULL,
  principal        text COLLATE "C" NOT NULL,
  key              text COLLATE "C" NOT NULL,
  request_hash     text        NOT NULL,
  state            text        NOT NULL,
  response_status  integer,
  response_headers jsonb,
  response_body    bytea,
  owner            text        NOT NULL,
  locked_until     timestamptz,
  created_at       timestamptz NOT NULL,
  expires_at       timestamptz,
  PRIMARY KEY (key, principal, scope)
);
CREATE INDEX IF NOT EXISTS ${index} ON ${schema}.${table} (expires_at);
`;
