// Keys in MySQL 8 and MariaDB 10.6 or later, through mysql2.
//
// A transaction first inserts its key's row, which says that the outcome is
// unknown; that uncommitted row is the key's lock. At the end the reply takes its
// place.

import type { Pool } from "mysql2/promise";
import { DUPLICATE_KEY, LOCK_WAIT_TIMEOUT, numberOf, rollsBack, Session, type Row } from "./session.js";
import { mysqlStatements, mysqlTable, type MysqlStatements } from "./statements.js";
import { OpenMysqlTx, serverOf, type MysqlTx, type Server } from "./transaction.js";
import type { Reply } from "../reply.js";
import { claimant, statusOf, purgedOf } from "../sql/rows.js";
import { SqlStore, type Done } from "../sql/store.js";
import type { Statement, Values } from "../sql/statements.js";
import type { Claim, KeyStatus, OpenTx, PurgeBatch, Purged, Store } from "../store.js";

export type { MysqlTx };

/** MysqlOptions say where the keys are. */
export interface MysqlOptions {
  /** In the connection's database, or qualified with another's name; default "idempotency_keys". */
  readonly table?: string;
}

const quote = (name: string) =>
  name
    .split(".")
    .map((part) => `\`${part.replaceAll("`", "``")}\``)
    .join(".");

/** mysqlKeysTable is the SQL that creates the table of the keys. */
export function mysqlKeysTable(options: MysqlOptions = {}): string {
  const table = options.table ?? "idempotency_keys";
  return mysqlTable(quote(table), table.split(".").at(-1)!);
}

/** MysqlStore keeps keys in one table. */
export class MysqlStore extends SqlStore<Row, Session> implements Store<MysqlTx> {
  /** @internal */
  readonly sql: MysqlStatements;
  protected readonly names;
  protected readonly begins = ["SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "START TRANSACTION"];
  #server: Server | undefined;

  /** The pool stays the caller's. */
  constructor(
    readonly pool: Pool,
    options: MysqlOptions = {},
  ) {
    super();
    if (typeof (pool as { promise?: unknown }).promise === "function") {
      throw new TypeError(
        "mysql2: the store needs a pool of mysql2/promise; this one takes callbacks: pass pool.promise()",
      );
    }
    const table = quote(options.table ?? "idempotency_keys");
    const create = "mysqlKeysTable, or cronce migrate print --set keys --engine mysql";
    this.names = { engine: "mysql2", table, create };
    this.sql = mysqlStatements(table);
  }

  /** @internal */
  values(claim: Claim): Values {
    const { key, fingerprint, owner, sendBefore, ttlMs } = claim;
    return {
      scope: Buffer.from(key.scope),
      principal: Buffer.from(key.principal),
      key: Buffer.from(key.value),
      hash: fingerprint,
      owner,
      claim: claimant(claim),
      ttl: Math.ceil(ttlMs),
      sendbefore: sendBefore?.getTime(),
    };
  }

  protected bodyOf(body: Uint8Array | undefined): unknown {
    return body && Buffer.from(body);
  }

  protected scanStatus(row: Row): KeyStatus {
    return statusOf(
      row,
      (body) => Buffer.from(body as Buffer),
      (value) => Number(value) === 1,
    );
  }

  /** Bytes, whatever the connection's character set. */
  protected headersOf(headers: string | null): unknown {
    return headers && Buffer.from(headers);
  }

  begin(claim: Claim, signal: AbortSignal): Promise<{ open: OpenTx<MysqlTx>; status: KeyStatus }> {
    return this.inSession("claim the key", signal, async (session) => {
      const server = await this.#open(session, claim, signal);
      const values = { ...this.values(claim), state: "omitted", status: 500 };
      let status = await this.#insertKey(session, values, signal);
      if (status.held && claim.sendBefore) {
        status = { ...status, tooLate: (await this.lookupIn(session, values, signal)).tooLate ?? false };
      }
      return { open: new OpenMysqlTx(this, session, claim, server, status.held ?? false), status };
    });
  }

  /** #open opens a transaction of work, and tells what the server is like. */
  async #open(session: Session, claim: Claim, signal: AbortSignal): Promise<Server> {
    this.#server ??= await serverOf(session, signal);
    await session.limit(claim.maxRunMs, signal);
    await session.query(signal, "START TRANSACTION");
    return this.#server;
  }

  protected async insert(session: Session, values: Values, signal: AbortSignal): Promise<boolean> {
    return (await this.#insertKey(session, values, signal)).held ?? false;
  }

  /** #insertKey inserts the key's row, in the place of an expired one too, or looks at the one that is there. */
  async #insertKey(session: Session, values: Values, signal: AbortSignal): Promise<KeyStatus> {
    try {
      for (let n = 0; n < 2; n++) {
        try {
          await session.run(signal, this.sql.insert, values);
          return { held: true };
        } catch (error) {
          if (numberOf(error) !== DUPLICATE_KEY) {
            throw error;
          }
        }
        const found = (await session.run(signal, this.sql.lookLocked, values)).rows[0]!;
        if (!Number(found[7])) {
          return this.scanStatus(found);
        }
        await session.run(signal, this.sql.reclaim, values);
      }
    } catch (error) {
      if (numberOf(error) !== LOCK_WAIT_TIMEOUT) {
        throw error;
      }
    }
    return {}; // somebody else has it, or placed theirs in between: in flight
  }

  async complete(claim: Claim, reply: Reply, signal: AbortSignal): Promise<Date | undefined> {
    const values = this.replied(claim, reply);
    return this.alone("complete the key", signal, async (session) => {
      const { changed } = await session.run(signal, this.sql.complete, values);
      return changed === 1 ? (await this.lookupIn(session, values, signal)).record?.reply.expiresAt : undefined;
    });
  }

  resume(claim: Claim, signal: AbortSignal): Promise<OpenTx<MysqlTx> | undefined> {
    return this.inSession("resume the work", signal, async (session) => {
      const server = await this.#open(session, claim, signal);
      if ((await session.run(signal, this.sql.resume, this.values(claim))).changed === 1) {
        return new OpenMysqlTx(this, session, claim, server, true);
      }
      await session.rollBack(signal);
      return undefined;
    });
  }

  protected take(signal: AbortSignal): Promise<Session> {
    return Session.take(this.pool, signal);
  }

  protected isRefused(error: unknown): boolean {
    return numberOf(error) !== undefined;
  }

  protected override isVictim(error: unknown): boolean {
    return rollsBack(error);
  }

  protected async checkSettings(session: Session, signal: AbortSignal): Promise<void> {
    const of = (isolation: string) =>
      session.query(signal, `SELECT @@SESSION.completion_type, @@SESSION.${isolation} LIMIT 1`);
    const { rows } = await of("tx_isolation").catch(() => of("transaction_isolation"));
    const [completion, isolation] = rows[0]!;
    if (String(completion) !== "NO_CHAIN") {
      throw new Error(`mysql2: the pool's sessions have completion_type ${String(completion)}; set it to NO_CHAIN`);
    }
    if (String(isolation) === "READ-UNCOMMITTED") {
      throw new Error(
        "mysql2: the pool's sessions are READ UNCOMMITTED; set transaction_isolation to READ-COMMITTED or stricter",
      );
    }
  }

  /** The rows are locked, without those that somebody else has locked, and then removed by their keys. */
  async purgeBatch(batch: PurgeBatch, signal: AbortSignal): Promise<Purged> {
    const values = { only: batch.scope, after: batch.after.getTime(), limit: batch.limit };
    return this.alone("purge", signal, async (session) => {
      const { rows } = await session.run(signal, this.sql.doomed, values);
      // Few enough for the server to look each key up: of a longer condition it may decide to read the whole table.
      for (let at = 0; at < rows.length; at += 200) {
        const some = rows.slice(at, at + 200);
        await session.query(
          signal,
          this.sql.remove(some.length),
          some.flatMap((row) => row.slice(0, 3)),
        );
      }
      return purgedOf(
        batch,
        rows.map(([name, , , expires]) => [name, expires]),
      );
    });
  }

  protected once(doing: string, signal: AbortSignal, statement: Statement, values: Values): Promise<Done<Row>> {
    return this.alone(doing, signal, (session) => session.run(signal, statement, values));
  }
}
