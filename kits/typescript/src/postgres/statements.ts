// The SQL of the store on PostgreSQL, beside what all engines have in common.

import { common, KEY, type Terms } from "../sql/statements.js";

/** The transaction's own time in microseconds, by which it is known again. */
const BEGAN = `CAST(extract(epoch FROM transaction_timestamp()) * 1000000 AS bigint)`;

/** The clock is not the transaction's start: a key that expires while one is open is expired in it. */
const terms = (table: string): Terms => ({
  table,
  key: "key",
  numbered: true,
  now: "clock_timestamp()",
  in: (parameter) => `clock_timestamp() + CAST(${parameter} AS bigint) * interval '1 ms'`,
  at: (parameter) => `to_timestamp(CAST(${parameter} AS bigint) / 1000.0)`,
  ms: (column) => `CAST(floor(extract(epoch FROM ${column}) * 1000) AS bigint)`,
  read: { headers: "CAST(response_headers AS text)", body: "encode(response_body, 'base64')" },
  write: { headers: "CAST(:headers AS jsonb)", body: "decode(:body, 'base64')" },
  onDisk:
    "RETURNING CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'local', true) END",
});

export type Statements = ReturnType<typeof statements>;

/** statements are the store's SQL, for the quoted name of its table. */
export function statements(table: string) {
  const t = terms(table);
  const all = common(t);
  const { expired, of } = all;
  const conflict = `
ON CONFLICT (key, principal, scope) DO UPDATE
SET request_hash = excluded.request_hash, state = excluded.state, response_status = excluded.response_status,
    response_headers = excluded.response_headers, response_body = excluded.response_body, owner = excluded.owner,
    locked_until = excluded.locked_until, created_at = excluded.created_at, expires_at = excluded.expires_at
WHERE k.${expired}`;
  return {
    ...all,

    // The lock is taken by a statement of its own, before the look-up: the
    // look-up's snapshot must be younger than the lock, or it misses the row of a
    // holder who has just committed. After maxRunMs the server ends a statement, a
    // transaction that waits for its process, and a connection whose client takes
    // no data. The savepoint, whose name the work does not know, tells later whether the
    // work has ended the transaction.
    begin: (lock: bigint, maxRunMs: number, savepoint: string) => `
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SELECT ${BEGAN}, pg_try_advisory_xact_lock(${lock}),
       CASE WHEN current_setting('statement_timeout') = '0'
              OR CAST(current_setting('statement_timeout') AS interval) > ${maxRunMs} * interval '1 ms'
            THEN set_config('statement_timeout', '${maxRunMs}', true) END,
       set_config('idle_in_transaction_session_timeout', '${maxRunMs}', true), set_config('tcp_user_timeout', '${maxRunMs}', true);
SAVEPOINT ${savepoint}`,

    // A transaction that has the lock and may do the work places the key's row, and the
    // look-up shows what was there before. Until the reply takes its place, the row says that
    // the outcome is unknown. It is committed with a COMMIT of the work's own, and a crash or
    // a failover that loses that loses the row too. The transaction's ID would not tell: a
    // server that crashed, or a standby that is promoted, gives lost IDs away again.
    claim: of(`
WITH placed AS (
  INSERT INTO {table} AS k (scope, principal, key, request_hash, state, response_status, owner, created_at, expires_at)
  SELECT CAST(:scope AS text), CAST(:principal AS text), CAST(:key AS text), CAST(:hash AS text), 'omitted', 500,
         CAST(:claim AS text), ${t.now}, ${t.in(":ttl")}
  WHERE CAST(:held AS boolean)${conflict}
)${all.lookup.source}`),

    // It stores nothing in a transaction other than the one that was opened. It
    // sets the work's limit off: that would end a commit's wait for its standby,
    // with the work committed here alone.
    record: of(`
INSERT INTO {table} AS k (scope, principal, key, request_hash, state, response_status, response_headers, response_body,
       owner, created_at, expires_at)
SELECT CAST(:scope AS text), CAST(:principal AS text), CAST(:key AS text), CAST(:hash AS text), CAST(:state AS text),
       CAST(:status AS integer), ${t.write.headers}, ${t.write.body}, CAST(:owner AS text), ${t.now}, ${t.in(":ttl")}
WHERE ${BEGAN} = CAST(:began AS bigint)${conflict} OR (k.owner = :claim AND k.state = 'omitted')
RETURNING ${t.ms("expires_at")}, set_config('statement_timeout', '0', true)`),

    // Why nothing was stored.
    missing: of(`SELECT ${BEGAN} = CAST(:began AS bigint), EXISTS (SELECT FROM {table} WHERE ${KEY})`),

    // The lock keeps it from waiting for a transaction that holds the key.
    insert: of(`
INSERT INTO {table} AS k (scope, principal, key, request_hash, state, owner, locked_until, created_at, expires_at)
SELECT CAST(:scope AS text), CAST(:principal AS text), CAST(:key AS text), CAST(:hash AS text), CAST(:state AS text),
       CAST(:owner AS text), ${t.in(":lease")}, ${t.now}, ${t.in(":ttl")}
WHERE pg_try_advisory_xact_lock(:lock)${conflict} ${t.onDisk}`),

    complete: of(`${all.complete.source} RETURNING ${t.ms("expires_at")}`),

    // It keeps the key from every other transaction until this one ends, and says what the
    // row of a claim says.
    resume: of(`
UPDATE {table} SET state = 'omitted', response_status = 500, response_body = NULL, owner = :claim,
       locked_until = NULL, expires_at = ${t.in(":ttl")}
WHERE ${KEY} AND owner = :owner AND state = 'accepted' RETURNING TRUE`),

    // Rows that somebody has locked are left out. The index can end at the
    // statement's time, which the expiry predicate cannot give it: that clock moves.
    purge: of(`
WITH doomed AS (
  SELECT ctid FROM {table}
  WHERE ${expired} AND expires_at <= statement_timestamp() AND expires_at >= ${t.at(":after")}
    AND (CAST(:only AS text) IS NULL OR scope = :only)
  ORDER BY expires_at LIMIT :limit FOR UPDATE SKIP LOCKED
)
DELETE FROM {table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM doomed)) AND ${expired}
RETURNING scope, ${t.ms("expires_at")}`),

    count: of(`
SELECT scope, count(*) FROM {table}
WHERE ${expired} AND expires_at <= statement_timestamp() AND (CAST(:only AS text) IS NULL OR scope = :only) GROUP BY scope`),

    // The server refuses to plan it without the unique index.
    checks: [
      ...all.checks,
      of(
        `INSERT INTO {table} (key) SELECT key FROM {table} WHERE FALSE ON CONFLICT (key, principal, scope) DO NOTHING`,
      ),
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
