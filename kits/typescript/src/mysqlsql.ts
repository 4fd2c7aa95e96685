// The SQL of the store on MySQL and MariaDB. It is that of the Go kit, on the same table.

const COLUMNS = `scope, principal, \`key\`, request_hash, state, response_status, response_headers, response_body,
       owner, locked_until, created_at, expires_at`;

/** The database's clock in milliseconds since 1970, by UTC: a session's local time is ambiguous for an hour each autumn. */
const NOW = "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000)";

const KEY = "scope = ? AND principal = ? AND `key` = ?";
const EXPIRED = `expires_at <= ${NOW}`;

// The headers as they were written, whatever the connection's character set.
const WRITTEN = "CONVERT(CAST(? AS BINARY) USING utf8mb4)";

export type MysqlStatements = ReturnType<typeof mysqlStatements>;

/** mysqlStatements are the store's SQL, for the quoted name of its table. */
export function mysqlStatements(table: string) {
  const look = (lock: string) => `
SELECT state, request_hash, owner, response_status, CAST(response_headers AS BINARY), response_body, expires_at,
       COALESCE(${EXPIRED}, FALSE), COALESCE(locked_until <= ${NOW}, FALSE), COALESCE(? <= ${NOW}, FALSE)
FROM (SELECT 1 AS one LIMIT 1) asked LEFT JOIN ${table} ON ${KEY} LIMIT 1${lock}`;
  return {
    // MySQL takes what is for MariaDB alone for a comment.
    insert: `
/*M!100600 SET STATEMENT innodb_lock_wait_timeout = 1 FOR */
INSERT INTO ${table} (scope, principal, \`key\`, request_hash, owner, state, response_status, locked_until, created_at, expires_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ${NOW} + ?, ${NOW}, ${NOW} + ?)`,
    reclaim: `DELETE FROM ${table} WHERE ${KEY} AND ${EXPIRED}`,
    look: look(""),
    // A locking read sees what is committed now, whatever the isolation.
    lookLocked: look(" LOCK IN SHARE MODE"),
    record: `
UPDATE ${table} SET state = ?, response_status = ?, response_headers = ${WRITTEN}, response_body = ?, owner = ?,
       expires_at = ${NOW} + ?
WHERE ${KEY} AND owner = ? AND state = 'omitted' /*M!100600 AND @@in_transaction = 1 */`,
    takeOver: `
UPDATE ${table} SET state = 'calling', owner = ?, locked_until = ${NOW} + ?
WHERE ${KEY} AND request_hash = ? AND (state = 'unknown' OR (state = 'calling' AND locked_until <= ${NOW}))`,
    settle: `
UPDATE ${table} SET state = ?, response_status = ?, response_headers = ${WRITTEN}, response_body = ?,
       locked_until = NULL, expires_at = ${NOW} + ?
WHERE ${KEY} AND owner = ? AND state = 'calling'`,
    doubt: `UPDATE ${table} SET state = 'unknown', locked_until = NULL WHERE ${KEY} AND owner = ? AND state = 'calling'`,
    free: `DELETE FROM ${table} WHERE ${KEY} AND owner = ? AND state = 'calling'`,
    retake: `
UPDATE ${table} SET owner = ?, locked_until = ${NOW} + ?, created_at = ${NOW}, expires_at = ${NOW} + ?
WHERE ${KEY} AND request_hash = ? AND state = 'accepted' AND locked_until <= ${NOW}`,
    renew: `
UPDATE ${table} SET locked_until = ${NOW} + ?, expires_at = ${NOW} + ?, response_body = ?
WHERE ${KEY} AND owner = ? AND state = 'accepted'`,
    abandon: `DELETE FROM ${table} WHERE ${KEY} AND owner = ? AND state = 'accepted'`,
    // As after an insert, the row says that the outcome of the work is unknown.
    resume: `
UPDATE ${table} SET state = 'omitted', response_status = 500, response_body = NULL, owner = ?, locked_until = NULL,
       expires_at = ${NOW} + ?
WHERE ${KEY} AND owner = ? AND state = 'accepted'`,
    // The index on expires_at gives the order, and where to go on.
    doomed: `
SELECT scope, principal, \`key\`, expires_at FROM ${table}
WHERE ${EXPIRED} AND expires_at >= ? AND (? IS NULL OR scope = ?)
ORDER BY expires_at LIMIT ? FOR UPDATE SKIP LOCKED`,
    remove: (rows: number) =>
      `DELETE FROM ${table} WHERE ${Array.from({ length: rows }, () => `(${KEY})`).join(" OR ")}`,
    count: `
SELECT scope, COUNT(*) FROM ${table} WHERE ${EXPIRED} AND (? IS NULL OR scope = ?) GROUP BY scope LIMIT 9223372036854775807`,
    checks: [
      `SELECT ${COLUMNS} FROM ${table} WHERE FALSE`,
      `INSERT INTO ${table} (${COLUMNS}) SELECT ${COLUMNS} FROM ${table} WHERE FALSE`,
      `UPDATE ${table} SET owner = owner WHERE FALSE`,
      `DELETE FROM ${table} WHERE FALSE`,
    ],
  };
}

/** mysqlTable is the migration of the table, as `cronce migrate print --set keys --engine mysql` prints it. */
export const mysqlTable = (table: string, name: string) => `
CREATE TABLE IF NOT EXISTS ${table} (
  scope            VARBINARY(255) NOT NULL,
  principal        VARBINARY(255) NOT NULL,
  \`key\`            VARBINARY(128) NOT NULL,
  request_hash     VARCHAR(80)    NOT NULL,
  state            ENUM('done', 'omitted', 'calling', 'unknown', 'accepted') NOT NULL,
  response_status  INT            NULL,
  response_headers MEDIUMTEXT     NULL,
  response_body    LONGBLOB       NULL,
  owner            VARCHAR(64)    NOT NULL,
  locked_until     BIGINT         NULL,
  created_at       BIGINT         NOT NULL,
  expires_at       BIGINT         NULL,
  PRIMARY KEY (scope, principal, \`key\`),
  INDEX ${name}_expires_at (expires_at),
  CONSTRAINT ${name}_lease CHECK (locked_until IS NOT NULL OR state NOT IN ('calling', 'accepted')),
  CONSTRAINT ${name}_expiry CHECK ((expires_at IS NULL) = (state IN ('calling', 'unknown')))
) ENGINE = InnoDB CHARACTER SET utf8mb4;
`;
