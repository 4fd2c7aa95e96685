// Keys in PostgreSQL, through pg. The work's transaction is READ COMMITTED.

import { createHash } from "node:crypto";
import type { Pool, PoolClient, QueryArrayResult } from "pg";
import { KitError, LostRace, transactionAborted, transactionEnded, unavailable } from "./errors.js";
import type { Key } from "./key.js";
import { createTable, statements, type Statements } from "./pgsql.js";
import { raced, refuseEnding, refuseLate } from "./raced.js";
import type { Reply } from "./reply.js";
import { columns, lease, lookOf, lostRace, purgedOf } from "./rows.js";
import type { Claim, Look, OpenTx, PurgeBatch, Purged, Store } from "./store.js";

/**
 * PgTx is the transaction that work writes through: a client of pg, for plain
 * queries, Drizzle and Kysely. The kit commits it or rolls it back; its `release`
 * and `end` throw, and so do BEGIN, COMMIT and ROLLBACK.
 */
export type PgTx = PoolClient;

/** PgOptions say where the keys are. */
export interface PgOptions {
  /** Default "cronce". */
  readonly schema?: string;
  /** Default "idempotency_keys". */
  readonly table?: string;
}

const quote = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** keysTable is the SQL that creates the table of the keys. */
export function keysTable(options: PgOptions = {}): string {
  const { schema = "cronce", table = "idempotency_keys" } = options;
  return createTable(quote(schema), quote(table), quote(`${table}_expires_at`));
}

/** Only who connects asks a client for its password. */
const OWN_CONNECTION =
  "a library would open connections of its own with the settings of this transaction, and the kit could not roll back what it writes: use a library that takes a client or asPool(tx), or tx.query";

/**
 * asPool makes a pool of one transaction, for libraries that want a pool:
 * `new Kysely({ dialect: new PostgresDialect({ pool: asPool(tx) }) })`.
 */
export function asPool(tx: PgTx): { connect(): Promise<PoolClient>; end(): Promise<void> } {
  const client = new Proxy(tx, {
    get: (target, name) => (name === "release" ? () => {} : Reflect.get(target, name)),
  });
  return {
    connect: async () => client,
    end: async () => {},
    get password(): never {
      throw new Error(OWN_CONNECTION);
    },
  } as ReturnType<typeof asPool>;
}

/** Values come as the server's text, whatever type parsers the service has set. */
const RAW = { getTypeParser: () => (value: unknown) => value };

type Row = (string | null)[];

/** Connection is a client of the pool, with what the kit knows of its state. */
class Connection {
  readonly #onError = (error: Error) => {
    this.broken ??= error;
  };
  broken: unknown;

  private constructor(readonly client: PoolClient) {
    // The server ends a session that is silent for too long. Without a listener
    // that would end the process.
    client.on("error", this.#onError);
  }

  static async take(pool: Pool, signal: AbortSignal): Promise<Connection> {
    const connecting = pool.connect();
    let client: PoolClient;
    try {
      client = await raced(connecting, signal);
    } catch (error) {
      connecting.then(
        (late) => late.release(),
        () => {},
      );
      throw unavailable("connect", error);
    }
    if ((client as { binary?: boolean }).binary) {
      client.release();
      throw unavailable(
        "the pool reads values in binary, which the kit does not; make it without { binary: true }",
        undefined,
      );
    }
    return new Connection(client);
  }

  /** rows runs a statement. A connection that gave no answer in time is not used again. */
  async rows(
    signal: AbortSignal,
    text: string,
    values?: unknown[],
  ): Promise<{ rows: Row[]; count: number; command: string }> {
    const config = { text, rowMode: "array" as const, types: RAW, ...(values && { values }) };
    try {
      const result: QueryArrayResult<Row> | QueryArrayResult<Row>[] = await raced(
        this.client.query<Row>(config as never) as unknown as Promise<QueryArrayResult<Row>>,
        signal,
      );
      const last = Array.isArray(result) ? (result.find((r) => r.rows.length > 0) ?? result.at(-1)!) : result;
      return { rows: last.rows, count: last.rowCount ?? 0, command: last.command };
    } catch (error) {
      if (refused(error) === undefined) {
        this.broken ??= error;
      }
      throw error;
    }
  }

  release(): void {
    this.client.release(this.broken !== undefined);
    // The pool listens again from here on; a destroyed client may yet complain.
    if (this.broken === undefined) {
      this.client.off("error", this.#onError);
    }
  }
}

/** refused is the SQLSTATE of an error by which the server would not do a statement, as opposed to being unable to. */
function refused(error: unknown): string | undefined {
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown };
  if (typeof code !== "string" || !/^[0-9A-Z]{5}$/.test(code) || severity === "FATAL" || severity === "PANIC") {
    return undefined;
  }
  return /^(08|53|57|58)/.test(code) ? undefined : code; // connection, resources, operator, system
}

/** PgStore keeps keys in one table. */
export class PgStore implements Store<PgTx> {
  readonly #name: string; // schema and table, the namespace of the locks
  readonly #sql: Statements;

  /** The pool stays the caller's. Every running handler holds one connection; a crowd waiting for one key holds one in all. */
  constructor(
    readonly pool: Pool,
    options: PgOptions = {},
  ) {
    this.#name = `${quote(options.schema ?? "cronce")}.${quote(options.table ?? "idempotency_keys")}`;
    this.#sql = statements(this.#name);
  }

  async begin(claim: Claim, signal: AbortSignal): Promise<{ open: OpenTx<PgTx>; look: Look }> {
    const connection = await Connection.take(this.pool, signal);
    try {
      const [began, held] = await this.#begin(connection, claim, signal);
      const looked = await connection.rows(signal, this.#sql.claim, keyAndSendBefore(claim));
      const look = lookAt(looked.rows[0]!);
      const open = new OpenPgTx(this, this.#sql, connection, began!, looked.rows[0]![10] ?? undefined);
      return { open, look: { ...look, held: held === "t" } };
    } catch (error) {
      await rollBack(connection, signal);
      throw unavailable("begin and look the key up", error);
    }
  }

  async look(claim: Claim, signal: AbortSignal): Promise<Look> {
    const { rows } = await this.#run("look the key up", this.#sql.look, keyAndSendBefore(claim), signal);
    return lookAt(rows[0]!);
  }

  /** It writes first and looks after, in a new statement: a row that was committed meanwhile is not in the write's snapshot. */
  async reserve(claim: Claim, leaseMs: number, takeOver: boolean, signal: AbortSignal): Promise<Look> {
    const connection = await Connection.take(this.pool, signal);
    try {
      await connection.rows(signal, this.#sql.beginReserve);
      const written = await connection.rows(signal, takeOver ? this.#sql.takeOver : this.#sql.reserve, [
        ...parts(claim.key),
        claim.fingerprint,
        claim.owner,
        leaseMs,
      ]);
      const { rows } = await connection.rows(signal, this.#sql.look, keyAndSendBefore(claim));
      await connection.rows(signal, "COMMIT");
      connection.release();
      const look = lookAt(rows[0]!);
      return written.count === 1 ? { held: true, late: look.late ?? false } : { ...look, held: false };
    } catch (error) {
      await rollBack(connection, signal);
      throw unavailable("reserve the key", error);
    }
  }

  async settle(claim: Claim, reply: Reply, signal: AbortSignal): Promise<Date | undefined> {
    const { rows } = await this.#run(
      "settle the key",
      this.#sql.settle,
      [...parts(claim.key), claim.owner, ...columnsOf(reply), claim.ttlMs],
      signal,
    );
    return rows[0] && new Date(Number(rows[0][0]));
  }

  doubt(claim: Claim, signal: AbortSignal): Promise<boolean> {
    return this.#owned(this.#sql.doubt, claim, signal);
  }

  free(claim: Claim, signal: AbortSignal): Promise<boolean> {
    return this.#owned(this.#sql.free, claim, signal);
  }

  async #owned(sql: string, claim: Claim, signal: AbortSignal): Promise<boolean> {
    return (await this.#run("give the key up", sql, [...parts(claim.key), claim.owner], signal)).count === 1;
  }

  /** It looks after it has written, in a new statement, as reserve does. */
  async accept(claim: Claim, signal: AbortSignal): Promise<Look> {
    const connection = await Connection.take(this.pool, signal);
    try {
      await connection.rows(signal, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE");
      const written = await connection.rows(signal, this.#sql.accept, [
        ...parts(claim.key),
        claim.fingerprint,
        claim.owner,
        ...lease(claim),
        claim.sendBefore?.getTime() ?? null,
      ]);
      const { rows } = await connection.rows(signal, this.#sql.look, keyAndSendBefore(claim));
      await connection.rows(signal, "COMMIT");
      connection.release();
      return { ...lookAt(rows[0]!), held: written.count === 1 };
    } catch (error) {
      await rollBack(connection, signal);
      throw unavailable("accept the work", error);
    }
  }

  async renew(claim: Claim, progress: Uint8Array | undefined, signal: AbortSignal): Promise<boolean> {
    const body = progress === undefined ? null : Buffer.from(progress).toString("base64");
    const values = [...parts(claim.key), claim.owner, ...lease(claim), body];
    return (await this.#run("renew the lease", this.#sql.renew, values, signal)).count === 1;
  }

  abandon(claim: Claim, signal: AbortSignal): Promise<boolean> {
    return this.#owned(this.#sql.abandon, claim, signal);
  }

  async resume(claim: Claim, signal: AbortSignal): Promise<OpenTx<PgTx> | undefined> {
    const connection = await Connection.take(this.pool, signal);
    try {
      const began = await this.#begin(connection, claim, signal);
      const values = [...parts(claim.key), claim.owner, Math.ceil(claim.ttlMs)];
      const { rows } = await connection.rows(signal, this.#sql.resume, values);
      if (rows[0] !== undefined) {
        return new OpenPgTx(this, this.#sql, connection, began[0]!, rows[0][0] ?? undefined);
      }
    } catch (error) {
      await rollBack(connection, signal);
      throw unavailable("resume the work", error);
    }
    await rollBack(connection, signal);
    return undefined;
  }

  /** #begin opens a transaction and tries to take the key's lock: its time, and whether it did. */
  async #begin(connection: Connection, claim: Claim, signal: AbortSignal): Promise<Row> {
    const maxRun = Math.min(Math.max(1, Math.ceil(claim.maxRunMs)), 2 ** 31 - 1);
    return (await connection.rows(signal, this.#sql.begin(lock(this.#name, claim.key), maxRun))).rows[0]!;
  }

  async check(signal: AbortSignal): Promise<void> {
    const connection = await Connection.take(this.pool, signal);
    try {
      for (const sql of this.#sql.checks) {
        await connection.rows(signal, sql);
      }
      const [isolation, standby] = (await connection.rows(signal, this.#sql.isolation)).rows[0]!;
      if (standby === "t") {
        throw new Error("pg: the server is a standby, which takes no keys: connect to the primary");
      }
      if (isolation !== "read committed") {
        throw new Error(
          `pg: the role's default isolation is ${isolation}, and the kit's transactions are READ COMMITTED: set default_transaction_isolation to 'read committed' for this pool`,
        );
      }
    } catch (error) {
      if (refused(error) !== undefined) {
        throw new Error(
          `pg: the table ${this.#name} cannot be used: ${(error as Error).message}; create it (keysTable, or cronce migrate print --set keys --engine postgres) and GRANT SELECT, INSERT, UPDATE, DELETE on it`,
          { cause: error },
        );
      }
      throw error;
    } finally {
      connection.release();
    }
  }

  async purgeBatch(batch: PurgeBatch, signal: AbortSignal): Promise<Purged> {
    const values = [batch.scope ?? null, batch.after.getTime(), batch.limit];
    const { rows } = await this.#run("purge", this.#sql.purge, values, signal);
    return purgedOf(
      batch,
      rows.map(([scope, expires]) => [scope, expires]),
    );
  }

  async countExpired(scope: string | undefined, signal: AbortSignal): Promise<Map<string, number>> {
    const { rows } = await this.#run("count the expired keys", this.#sql.count, [scope ?? null], signal);
    return new Map(rows.map(([name, n]) => [name!, Number(n)]));
  }

  /** @internal committed reports whether a transaction was committed, as far as that can be told. */
  async committed(id: string, signal: AbortSignal): Promise<boolean> {
    const { rows } = await this.#run("look the transaction up", this.#sql.fate, [id], signal);
    return rows[0]?.[0] === "t";
  }

  /** #run runs a statement that is a transaction of its own. */
  async #run(doing: string, sql: string, values: unknown[], signal: AbortSignal) {
    const connection = await Connection.take(this.pool, signal);
    try {
      return await connection.rows(signal, sql, values);
    } catch (error) {
      throw unavailable(doing, error);
    } finally {
      connection.release();
    }
  }
}

/** OpenPgTx is an open transaction of a store. */
class OpenPgTx implements OpenTx<PgTx> {
  #over = false;
  #used = false;
  readonly tx: PgTx;

  constructor(
    readonly store: PgStore,
    readonly sql: Statements,
    readonly connection: Connection,
    readonly began: string,
    readonly id: string | undefined,
  ) {
    this.tx = new Proxy(connection.client, {
      get: (client, name) => {
        if (name === "password") {
          throw new Error(OWN_CONNECTION);
        }
        const value: unknown = Reflect.get(client, name);
        if (name === "release" || name === "end" || name === "connect") {
          return () => refuseEnding("COMMIT");
        }
        if (name !== "query") {
          return typeof value === "function" ? (value as (...args: unknown[]) => unknown).bind(client) : value;
        }
        return (first: unknown, ...rest: unknown[]) => {
          if (this.#over) {
            return refuseLate([first, ...rest]);
          }
          refuseEnding(typeof first === "string" ? first : (first as { text?: unknown } | null)?.text);
          this.#used = true;
          return (client.query as (...args: unknown[]) => unknown)(first, ...rest);
        };
      },
    });
  }

  async commit(claim: Claim, reply: Reply, signal: AbortSignal): Promise<Date> {
    this.#over = true;
    let stored = false;
    try {
      const expiresAt = await this.#store(claim, reply, signal);
      stored = true;
      if ((await this.connection.rows(signal, "COMMIT")).command !== "COMMIT") {
        throw transactionAborted();
      }
      this.connection.release();
      return expiresAt;
    } catch (error) {
      await rollBack(this.connection, signal);
      throw explain(error, stored);
    }
  }

  async #store(claim: Claim, reply: Reply, signal: AbortSignal): Promise<Date> {
    const { rows } = await this.connection.rows(signal, this.sql.record, [
      ...parts(claim.key),
      claim.fingerprint,
      ...columnsOf(reply),
      claim.owner,
      claim.ttlMs,
      this.began,
    ]);
    if (rows[0] !== undefined) {
      return new Date(Number(rows[0][0]));
    }
    const missing = await this.connection.rows(signal, this.sql.missing, [...parts(claim.key), this.began]);
    const [same, there] = missing.rows[0]!;
    if (same !== "t") {
      throw transactionEnded();
    }
    if (there === "t") {
      throw lostRace();
    }
    throw transactionAborted(
      new Error("the table did not store the key's row: drop the rule, trigger or policy that prevents it"),
    );
  }

  async rollback(signal: AbortSignal): Promise<void> {
    this.#over = true;
    let ended = false;
    if (this.#used) {
      try {
        await this.connection.rows(signal, "ROLLBACK TO SAVEPOINT idempotent_work");
      } catch (error) {
        // invalid_savepoint_specification, no_active_sql_transaction
        ended = ["3B001", "25P01"].includes(refused(error) ?? "");
      }
    }
    const lost = this.connection.broken !== undefined && this.#used;
    await rollBack(this.connection, signal);
    if (!ended && lost && this.id !== undefined) {
      // The signal's time may be used up by the connection that gave no answer.
      ended = await this.store.committed(this.id, AbortSignal.timeout(5_000)).catch(() => false);
    }
    if (ended) {
      throw transactionEnded();
    }
  }
}

/** rollBack rolls back and gives the connection back, or ends a connection that cannot be told to. */
async function rollBack(connection: Connection, signal: AbortSignal): Promise<void> {
  if (connection.broken === undefined) {
    await connection.rows(signal, "ROLLBACK").catch((error: unknown) => {
      connection.broken ??= error;
    });
  }
  connection.release();
}

/** explain translates an error of the ending. Once the record is stored what the server refuses is the work. */
function explain(error: unknown, stored: boolean): unknown {
  if (error instanceof KitError || error instanceof LostRace) {
    return error;
  }
  const code = refused(error);
  if (code === undefined) {
    return unavailable("store the reply and commit", error);
  }
  if (!stored && code === "23505") {
    return lostRace(error);
  }
  return transactionAborted(error); // a statement of the work had failed, or a deferred constraint
}

/** lock is the number of the key's advisory lock, which all kits on one table share. */
function lock(table: string, key: Key): bigint {
  const text = [table, ...parts(key)].map((part) => `${Buffer.byteLength(part)}:${part}`).join("");
  return createHash("sha256").update(text).digest().readBigInt64BE(0);
}

const parts = (key: Key): string[] => [key.scope, key.principal, key.value];

const keyAndSendBefore = (claim: Claim) => [...parts(claim.key), claim.sendBefore?.getTime() ?? null];

const columnsOf = (reply: Reply) => [...columns(reply), Buffer.from(reply.body).toString("base64")];

const lookAt = (row: Row): Look =>
  lookOf(
    row,
    (body) => Buffer.from(body!, "base64"),
    (value) => value === "t",
  );
