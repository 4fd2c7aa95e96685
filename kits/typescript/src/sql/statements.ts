// The SQL that is alike on all engines, with each database's words put in. It is that of
// the Go kit, on the same tables.

/** Values are a statement's parameters, by name. */
export type Values = Readonly<Record<string, unknown>>;

/** Statement is SQL whose parameters have names. */
export interface Statement {
  readonly text: string;
  /** The text before names and parameters were put in. */
  readonly source: string;
  args(values: Values): unknown[];
}

/** Terms are a database's words for what the statements say. */
export interface Terms {
  /** The table and its column of the key, quoted. */
  readonly table: string;
  readonly key: string;
  /** Parameters are $1, $2; else ? in their order. */
  readonly numbered: boolean;
  readonly now: string;
  /** A time that is so many milliseconds from now, or since 1970. */
  in(parameter: string): string;
  at(parameter: string): string;
  /** A column's time in milliseconds since 1970. */
  ms(column: string): string;
  /** How headers and bodies are read, and written. */
  readonly read: { headers: string; body: string };
  readonly write: { headers: string; body: string };
  /** Ends a statement whose commit a crash must not lose. */
  readonly onDisk: string;
}

const COLUMNS = `scope, principal, {key}, request_hash, state, response_status, response_headers, response_body,
       owner, locked_until, created_at, expires_at`;

/** The row of a claim. */
export const KEY = "scope = :scope AND principal = :principal AND {key} = :key";

/** statement puts names and parameters in: {table} and {key}, and :name. */
export function statement(t: Terms, text: string): Statement {
  const names: string[] = [];
  const numbered = text.replace(/([^:]):([a-z]+)\b/gi, (_, before: string, name: string) => {
    const known = t.numbered ? names.indexOf(name) : -1;
    const at = known >= 0 ? known : names.push(name) - 1;
    return before + (t.numbered ? `$${at + 1}` : "?");
  });
  // Last, since a name may have any character in it.
  const named = numbered.replace(/\{(table|key)\}/g, (_, name: "table" | "key") => t[name]);
  return { text: named, source: text, args: (values) => names.map((name) => values[name] ?? null) };
}

export type Common = ReturnType<typeof common>;

/** common are the statements that are alike on all engines. A look-up has one row for a key without one, too. */
export function common(t: Terms) {
  const expired = `expires_at <= ${t.now}`;
  const of = (text: string) => statement(t, text);
  const lookupWith = (more = "", lock = "") =>
    of(`
SELECT state, request_hash, owner, response_status, ${t.read.headers}, ${t.read.body}, ${t.ms("expires_at")},
       COALESCE(${expired}, FALSE), COALESCE(locked_until <= ${t.now}, FALSE), COALESCE(${t.at(":sendbefore")} <= ${t.now}, FALSE)${more}
FROM (SELECT 1 AS one LIMIT 1) asked LEFT JOIN {table} ON ${KEY} LIMIT 1${lock}`);
  return {
    expired,
    of,
    lookupWith,
    lookup: lookupWith(),
    takeOver: of(`
UPDATE {table} SET state = 'calling', owner = :owner, locked_until = ${t.in(":lease")}
WHERE ${KEY} AND request_hash = :hash AND (state = 'unknown' OR (state = 'calling' AND locked_until <= ${t.now})) ${t.onDisk}`),
    complete: of(`
UPDATE {table} SET state = :state, response_status = :status, response_headers = ${t.write.headers}, response_body = ${t.write.body},
       locked_until = NULL, expires_at = ${t.in(":ttl")}
WHERE ${KEY} AND owner = :owner AND state = 'calling'`),
    markUnknown: of(
      `UPDATE {table} SET state = 'unknown', locked_until = NULL WHERE ${KEY} AND owner = :owner AND state = 'calling'`,
    ),
    release: of(`DELETE FROM {table} WHERE ${KEY} AND owner = :owner AND state = 'calling'`),
    // A row that another worker has lost keeps its progress.
    takeOverWork: of(`
UPDATE {table} SET owner = :owner, locked_until = ${t.in(":lease")}, created_at = ${t.now}, expires_at = ${t.in(":ttl")}
WHERE ${KEY} AND request_hash = :hash AND state = 'accepted' AND locked_until <= ${t.now}`),
    renew: of(`
UPDATE {table} SET locked_until = ${t.in(":lease")}, expires_at = ${t.in(":ttl")}, response_body = ${t.write.body}
WHERE ${KEY} AND owner = :owner AND state = 'accepted'`),
    abandon: of(`DELETE FROM {table} WHERE ${KEY} AND owner = :owner AND state = 'accepted'`),
    count: of(`
SELECT scope, COUNT(*) FROM {table} WHERE ${expired} AND (scope = :only OR :only IS NULL) GROUP BY scope LIMIT 9223372036854775807`),
    // Statements without effect, for each of which the server wants the table, its columns and one privilege.
    checks: [
      of(`SELECT ${COLUMNS} FROM {table} WHERE FALSE`),
      of(`INSERT INTO {table} (${COLUMNS}) SELECT ${COLUMNS} FROM {table} WHERE FALSE`),
      of(`UPDATE {table} SET owner = owner WHERE FALSE`),
      of(`DELETE FROM {table} WHERE FALSE`),
    ],
  };
}
