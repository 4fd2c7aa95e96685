// The SQL of the store on MySQL and MariaDB, beside what all engines have in common.

import { common, KEY, type Terms } from "../sql/statements.js";

/** The database's clock in milliseconds since 1970, by UTC: a session's local time is ambiguous for an hour each autumn. */
const NOW = "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000)";

const terms = (table: string): Terms => ({
  table,
  key: "`key`",
  numbered: false,
  now: NOW,
  in: (parameter) => `${NOW} + ${parameter}`,
  at: (parameter) => parameter,
  ms: (column) => column,
  // The headers as they were written, whatever the connection's character set.
  read: { headers: "CAST(response_headers AS BINARY)", body: "response_body" },
  write: { headers: "CONVERT(CAST(:headers AS BINARY) USING utf8mb4)", body: ":body" },
  onDisk: "",
});

export type MysqlStatements = ReturnType<typeof mysqlStatements>;

/** mysqlStatements are the store's SQL, for the quoted name of its table. */
export function mysqlStatements(table: string) {
  const t = terms(table);
  const all = common(t);
  const { expired, of } = all;
  return {
    ...all,
    // MySQL takes what is for MariaDB alone for a comment.
    insert: of(`
/*M!100600 SET STATEMENT innodb_lock_wait_timeout = 1 FOR */
INSERT INTO {table} (scope, principal, {key}, request_hash, owner, state, response_status, locked_until, created_at, expires_at)
VALUES (:scope, :principal, :key, :hash, :claim, :state, :status, ${t.in(":lease")}, ${NOW}, ${t.in(":ttl")})`),
    reclaim: of(`DELETE FROM {table} WHERE ${KEY} AND ${expired}`),
    // A locking read sees what is committed now, whatever the isolation.
    lookLocked: all.lookupWith("", " LOCK IN SHARE MODE"),
    record: of(`
UPDATE {table} SET state = :state, response_status = :status, response_headers = ${t.write.headers}, response_body = :body,
       owner = :owner, expires_at = ${t.in(":ttl")}
WHERE ${KEY} AND owner = :claim AND state = 'omitted' /*M!100600 AND @@in_transaction = 1 */`),
    // As after an insert, the row says that the outcome of the work is unknown.
    resume: of(`
UPDATE {table} SET state = 'omitted', response_status = 500, response_body = NULL, owner = :claim, locked_until = NULL,
       expires_at = ${t.in(":ttl")}
WHERE ${KEY} AND owner = :owner AND state = 'accepted'`),
    // The index on expires_at gives the order, and where to go on.
    doomed: of(`
SELECT scope, principal, {key}, expires_at FROM {table}
WHERE ${expired} AND expires_at >= :after AND (:only IS NULL OR scope = :only)
ORDER BY expires_at LIMIT :limit FOR UPDATE SKIP LOCKED`),
    remove: (rows: number) =>
      `DELETE FROM ${table} WHERE ${Array.from({ length: rows }, () => "(scope = ? AND principal = ? AND `key` = ?)").join(" OR ")}`,
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
