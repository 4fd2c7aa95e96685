// Keys in PostgreSQL, through pg. The work's transaction is READ COMMITTED.

import { createHash } from "node:crypto";
import type { Pool, PoolClient, QueryArrayResult } from "pg";
import { KitError, LostRace, transactionAborted, transactionEnded, unavailable } from "./errors.js";
import type { Key } from "./key.js";
import { createTable, statements, type Statements } from "./pgsql.js";
import { raced, refuseEnding, refuseLate } from "./raced.js";
import type { Reply } from "./reply.js";
import { columns, lookOf, lostRace, purgedOf } from "./rows.js";
import { SqlStore, type Done } from "./sqlstore.js";
import type { Statement, Values } from "./statements.js";
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

  run(signal: AbortSignal, statement: Statement, values: Values): Promise<Done<Row>> {
    return this.rows(signal, statement.text, statement.args(values));
  }

  /** rows runs a statement. A connection that gave no answer in time is not used again. */
  async rows(signal: AbortSignal, text: string, values?: unknown[]): Promise<Done<Row> & { command: string }> {
    const config = { text, rowMode: "array" as const, types: RAW, ...(values && { values }) };
    try {
      const result: QueryArrayResult<Row> | QueryArrayResult<Row>[] = await raced(
        this.client.query<Row>(config as never) as unknown as Promise<QueryArrayResult<Row>>,
        signal,
      );
      const last = Array.isArray(result) ? (result.find((r) => r.rows.length > 0) ?? result.at(-1)!) : result;
      return { rows: last.rows, changed: last.rowCount ?? 0, command: last.command };
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
export class PgStore extends SqlStore<Row, Connection> implements Store<PgTx> {
  protected readonly names; // its table is the namespace of the locks
  protected readonly sql: Statements;

  /** The pool stays the caller's. Every running handler holds one connection; a crowd waiting for one key holds one in all. */
  constructor(
    readonly pool: Pool,
    options: PgOptions = {},
  ) {
    super();
    this.names = {
      engine: "pg",
      table: `${quote(options.schema ?? "cronce")}.${quote(options.table ?? "idempotency_keys")}`,
      create: "keysTable, or cronce migrate print --set keys --engine postgres",
    };
    this.sql = statements(this.names.table);
  }

  protected values(claim: Claim): Values {
    const { key, fingerprint, owner, sendBefore, ttlMs } = claim;
    return {
      scope: key.scope,
      principal: key.principal,
      key: key.value,
      hash: fingerprint,
      owner,
      claim: `claim:${owner}`,
      ttl: Math.ceil(ttlMs),
      sendbefore: sendBefore?.getTime(),
    };
  }

  protected bodyOf(body: Uint8Array | undefined): unknown {
    return body && Buffer.from(body).toString("base64");
  }

  protected lookAt(row: Row): Look {
    return lookOf(
      row,
      (body) => Buffer.from(body!, "base64"),
      (value) => value === "t",
    );
  }

  /** replied are a claim's values with those of its reply. */
  #replied(claim: Claim, reply: Reply): Values {
    const [state, status, headers] = columns(reply);
    return { ...this.values(claim), state, status, headers, body: this.bodyOf(reply.body) };
  }

  async begin(claim: Claim, signal: AbortSignal): Promise<{ open: OpenTx<PgTx>; look: Look }> {
    const connection = await Connection.take(this.pool, signal);
    try {
      const [began, held] = await this.#begin(connection, claim, signal);
      const row = (await connection.run(signal, this.sql.claim, this.values(claim))).rows[0]!;
      const open = new OpenPgTx(this, connection, began!, row[10] ?? undefined);
      return { open, look: { ...this.lookAt(row), held: held === "t" } };
    } catch (error) {
      await rollBack(connection, signal);
      throw unavailable("begin and look the key up", error);
    }
  }

  async settle(claim: Claim, reply: Reply, signal: AbortSignal): Promise<Date | undefined> {
    const { rows } = await this.once("settle the key", signal, this.sql.settle, this.#replied(claim, reply));
    return rows[0] && new Date(Number(rows[0][0]));
  }

  protected async place(connection: Connection, values: Values, signal: AbortSignal): Promise<boolean> {
    return (await connection.run(signal, this.sql.insert, values)).changed === 1;
  }

  async resume(claim: Claim, signal: AbortSignal): Promise<OpenTx<PgTx> | undefined> {
    const connection = await Connection.take(this.pool, signal);
    try {
      const began = await this.#begin(connection, claim, signal);
      const { rows } = await connection.run(signal, this.sql.resume, this.values(claim));
      if (rows[0] !== undefined) {
        return new OpenPgTx(this, connection, began[0]!, rows[0][0] ?? undefined);
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
    return (await connection.rows(signal, this.sql.begin(lock(this.names.table, claim.key), maxRun))).rows[0]!;
  }

  protected take(signal: AbortSignal): Promise<Connection> {
    return Connection.take(this.pool, signal);
  }

  protected isRefused(error: unknown): boolean {
    return refused(error) !== undefined;
  }

  protected async checkSettings(connection: Connection, signal: AbortSignal): Promise<void> {
    const [isolation, standby] = (await connection.rows(signal, this.sql.isolation)).rows[0]!;
    if (standby === "t") {
      throw new Error("pg: the server is a standby, which takes no keys: connect to the primary");
    }
    if (isolation !== "read committed") {
      throw new Error(
        `pg: the role's default isolation is ${isolation}, and the kit's transactions are READ COMMITTED: set default_transaction_isolation to 'read committed' for this pool`,
      );
    }
  }

  async purgeBatch(batch: PurgeBatch, signal: AbortSignal): Promise<Purged> {
    const values = { only: batch.scope, after: batch.after.getTime(), limit: batch.limit };
    const { rows } = await this.once("purge", signal, this.sql.purge, values);
    return purgedOf(
      batch,
      rows.map(([scope, expires]) => [scope, expires]),
    );
  }

  /** @internal committed reports whether a transaction was committed, as far as that can be told. */
  async committed(id: string, signal: AbortSignal): Promise<boolean> {
    const { rows } = await this.once("look the transaction up", signal, this.sql.fate, { id });
    return rows[0]?.[0] === "t";
  }

  /** @internal record stores the reply of the work in the transaction that began then. */
  async record(connection: Connection, claim: Claim, reply: Reply, began: string, signal: AbortSignal): Promise<Date> {
    const values = { ...this.#replied(claim, reply), began };
    const { rows } = await connection.run(signal, this.sql.record, values);
    if (rows[0] !== undefined) {
      return new Date(Number(rows[0][0]));
    }
    const [same, there] = (await connection.run(signal, this.sql.missing, values)).rows[0]!;
    if (same !== "t") {
      throw transactionEnded();
    }
    throw there === "t"
      ? lostRace()
      : transactionAborted(
          new Error("the table did not store the key's row: drop the rule, trigger or policy that prevents it"),
        );
  }

  protected async alone<T>(doing: string, signal: AbortSignal, fn: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await Connection.take(this.pool, signal);
    try {
      await connection.rows(signal, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE");
      const result = await fn(connection);
      await connection.rows(signal, "COMMIT");
      connection.release();
      return result;
    } catch (error) {
      await rollBack(connection, signal);
      throw unavailable(doing, error);
    }
  }

  protected async once(doing: string, signal: AbortSignal, statement: Statement, values: Values): Promise<Done<Row>> {
    const connection = await Connection.take(this.pool, signal);
    try {
      return await connection.run(signal, statement, values);
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
      const expiresAt = await this.store.record(this.connection, claim, reply, this.began, signal);
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
function lock(table: string, { scope, principal, value }: Key): bigint {
  const text = [table, scope, principal, value].map((part) => `${Buffer.byteLength(part)}:${part}`).join("");
  return createHash("sha256").update(text).digest().readBigInt64BE(0);
}
