// Keys in PostgreSQL, through pg. The work's transaction is READ COMMITTED.

import { createHash } from "node:crypto";
import type { Pool, PoolClient } from "pg";
import { transactionAborted, transactionEnded, unavailable } from "../errors.js";
import type { Key } from "../key.js";
import { Session, refused, type Row } from "./session.js";
import { createTable, statements, type Statements } from "./statements.js";
import { OpenPgTx, OWN_CONNECTION, type PgTx } from "./transaction.js";
import type { Reply } from "../reply.js";
import { claimant, statusOf, lostRace, purgedOf } from "../sql/rows.js";
import { SqlStore, type Done } from "../sql/store.js";
import type { Statement, Values } from "../sql/statements.js";
import type { Claim, KeyStatus, OpenTx, PurgeBatch, Purged, Store } from "../store.js";

export type { PgTx };

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

/** PgStore keeps keys in one table. */
export class PgStore extends SqlStore<Row, Session> implements Store<PgTx> {
  protected readonly names; // its table is the namespace of the locks
  protected readonly sql: Statements;
  protected readonly begins = ["BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"];

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
      claim: claimant(claim),
      lock: this.#lock(key),
      ttl: Math.ceil(ttlMs),
      sendbefore: sendBefore?.getTime(),
    };
  }

  protected bodyOf(body: Uint8Array | undefined): unknown {
    return body && Buffer.from(body).toString("base64");
  }

  protected scanStatus(row: Row): KeyStatus {
    return statusOf(
      row,
      (body) => Buffer.from(body!, "base64"),
      (value) => value === "t",
    );
  }

  protected headersOf(headers: string | null): unknown {
    return headers;
  }

  begin(claim: Claim, signal: AbortSignal): Promise<{ open: OpenTx<PgTx>; status: KeyStatus }> {
    return this.inSession("begin and look the key up", signal, async (session) => {
      const [began, held] = await this.#begin(session, claim, signal);
      const values = { ...this.values(claim), held: held === "t" };
      const row = (await session.run(signal, this.sql.claim, values)).rows[0]!;
      return {
        open: new OpenPgTx(this, session, claim, began!),
        status: { ...this.scanStatus(row), held: values.held },
      };
    });
  }

  async complete(claim: Claim, reply: Reply, signal: AbortSignal): Promise<Date | undefined> {
    const { rows } = await this.once("complete the key", signal, this.sql.complete, this.replied(claim, reply));
    return rows[0] && new Date(Number(rows[0][0]));
  }

  protected async insert(session: Session, values: Values, signal: AbortSignal): Promise<boolean> {
    return (await session.run(signal, this.sql.insert, values)).changed === 1;
  }

  resume(claim: Claim, signal: AbortSignal): Promise<OpenTx<PgTx> | undefined> {
    return this.inSession("resume the work", signal, async (session) => {
      const [began] = await this.#begin(session, claim, signal);
      const { rows } = await session.run(signal, this.sql.resume, this.values(claim));
      if (rows[0] !== undefined) {
        return new OpenPgTx(this, session, claim, began!);
      }
      await session.rollBack(signal);
      return undefined;
    });
  }

  /** #begin opens a transaction and tries to take the key's lock: its time, and whether it did. */
  async #begin(session: Session, claim: Claim, signal: AbortSignal): Promise<Row> {
    const maxRun = Math.min(Math.max(1, Math.ceil(claim.maxRunMs)), 2 ** 31 - 1);
    const begin = this.sql.begin(this.#lock(claim.key), maxRun, session.savepoint);
    return (await session.query(signal, begin)).rows[0]!;
  }

  /** #lock is the number of the key's advisory lock, which all kits on one table share. */
  #lock({ scope, principal, value }: Key): bigint {
    const parts = [this.names.table, scope, principal, value];
    const text = parts.map((part) => `${Buffer.byteLength(part)}:${part}`).join("");
    return createHash("sha256").update(text).digest().readBigInt64BE(0);
  }

  protected take(signal: AbortSignal): Promise<Session> {
    return Session.take(this.pool, signal);
  }

  protected isRefused(error: unknown): boolean {
    return refused(error) !== undefined;
  }

  protected async checkSettings(session: Session, signal: AbortSignal): Promise<void> {
    const [isolation, standby] = (await session.query(signal, this.sql.isolation)).rows[0]!;
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

  /** @internal record stores the reply of the work in the transaction that began then. */
  async record(session: Session, claim: Claim, reply: Reply, began: string, signal: AbortSignal): Promise<Date> {
    const values = { ...this.replied(claim, reply), began };
    const { rows } = await session.run(signal, this.sql.record, values);
    if (rows[0] !== undefined) {
      return new Date(Number(rows[0][0]));
    }
    const [same, there] = (await session.run(signal, this.sql.missing, values)).rows[0]!;
    if (same !== "t") {
      throw transactionEnded();
    }
    throw there === "t"
      ? lostRace()
      : transactionAborted(
          new Error("the table did not store the key's row: drop the rule, trigger or policy that prevents it"),
        );
  }

  protected async once(doing: string, signal: AbortSignal, statement: Statement, values: Values): Promise<Done<Row>> {
    const session = await Session.take(this.pool, signal);
    try {
      return await session.run(signal, statement, values);
    } catch (error) {
      throw unavailable(doing, error);
    } finally {
      session.release();
    }
  }
}
