// A transaction with work in it, on MySQL and MariaDB.

import type { PoolConnection, PreparedStatementInfo } from "mysql2/promise";
import { KitError, LostRace, transactionAborted, transactionEnded, unavailable } from "../errors.js";
import type { MysqlStore } from "./store.js";
import { LOCK_WAIT_TIMEOUT, NO_SAVEPOINT, numberOf, rollsBack, type Row, type Session } from "./session.js";
import { refuseEnding, refuseLate } from "../sql/refuse.js";
import type { Reply } from "../reply.js";
import { claimant, lostRace } from "../sql/rows.js";
import type { Claim, OpenTx } from "../store.js";

/**
 * MysqlTx is the transaction that work writes through: a connection of mysql2. The
 * kit commits it or rolls it back: `commit`, `rollback`, `release` and BEGIN throw.
 */
export type MysqlTx = PoolConnection;

/** Server is what matters of the server when work ends. */
export interface Server {
  readonly mariaDB: boolean;
  /** A wait for a lock that takes too long ends the whole transaction. */
  readonly rollbackOnTimeout: boolean;
}

export async function serverOf(session: Session, signal: AbortSignal): Promise<Server> {
  const { rows } = await session.query(signal, "SELECT VERSION(), @@GLOBAL.innodb_rollback_on_timeout LIMIT 1");
  const [version, rollback] = rows[0]!;
  return { mariaDB: /mariadb/i.test(String(version)), rollbackOnTimeout: Number(rollback) === 1 };
}

/** OpenMysqlTx is an open transaction of a store. */
export class OpenMysqlTx implements OpenTx<MysqlTx> {
  #over = false;
  #used = false;
  readonly tx: MysqlTx;

  constructor(
    readonly store: MysqlStore,
    readonly session: Session,
    readonly claim: Claim,
    readonly server: Server,
    readonly held: boolean, // the row is this transaction's
  ) {
    const refused = new Set<PropertyKey>([
      "release",
      "destroy",
      "end",
      "commit",
      "rollback",
      "beginTransaction",
      "connection",
    ]);
    this.tx = new Proxy(session.connection, {
      get: (connection, name) => {
        if (refused.has(name)) {
          return () => refuseEnding("COMMIT");
        }
        const value: unknown = Reflect.get(connection, name, connection);
        if (typeof value !== "function") {
          return value;
        }
        const method = value as (...args: unknown[]) => unknown;
        switch (name) {
          case "query":
          case "execute":
            return this.#guarded(connection, method);
          case "prepare":
            return async (sql: unknown) => {
              const statement = (await this.#guarded(connection, method)(sql)) as PreparedStatementInfo;
              return { execute: this.#guarded(statement, statement.execute), close: () => statement.close() };
            };
          default:
            return method.bind(connection);
        }
      },
    });
  }

  /** #guarded is a method that runs SQL, for as long as the work goes on. */
  #guarded(owner: object, method: (...args: never[]) => unknown) {
    return (...args: unknown[]) => {
      if (this.#over) {
        return refuseLate(args);
      }
      const [first] = args;
      refuseEnding(typeof first === "string" ? first : (first as { sql?: unknown } | null | undefined)?.sql);
      this.#used = true;
      return method.apply(owner, args as never[]);
    };
  }

  async commit(claim: Claim, reply: Reply, signal: AbortSignal): Promise<Date> {
    this.#over = true;
    try {
      if (!(await this.#stillIn(signal))) {
        throw transactionEnded();
      }
      const values = this.store.replied(claim, reply);
      const stored = (await this.session.run(signal, this.store.sql.record, values)).changed;
      const status = await this.store.lookupIn(this.session, values, signal);
      if (stored === 0) {
        throw status.record !== undefined && status.record.owner !== claimant(claim) ? lostRace() : transactionEnded();
      }
      await this.session.query(signal, "COMMIT");
      await this.session.release(signal);
      return status.record!.reply.expiresAt!;
    } catch (error) {
      await this.session.rollBack(signal);
      if (error instanceof KitError || error instanceof LostRace) {
        throw error;
      }
      throw rollsBack(error) ? transactionAborted(error) : unavailable("store the reply and commit", error);
    }
  }

  async rollback(signal: AbortSignal): Promise<void> {
    this.#over = true;
    const ended = this.#used && !this.session.broken && (await this.#endedByWork(signal));
    await this.session.rollBack(signal);
    if (ended || (this.#used && this.held && (await this.store.committedByWork(this.claim)))) {
      throw transactionEnded();
    }
  }

  /** #endedByWork reports whether the work, and not the server with an error, has ended the transaction. */
  async #endedByWork(signal: AbortSignal): Promise<boolean> {
    // MySQL is asked first: the error of the missing savepoint takes the place of the work's.
    if (!this.server.mariaDB && (await this.#endedByServer(signal))) {
      return false;
    }
    if (await this.#stillIn(signal).catch(() => true)) {
      return false;
    }
    return !this.server.mariaDB || !(await this.#endedByServer(signal));
  }

  async #endedByServer(signal: AbortSignal): Promise<boolean> {
    const { rows } = await this.session.query(signal, "SHOW ERRORS").catch(() => ({ rows: [] as Row[] }));
    const errno = Number(rows[0]?.[1]);
    const isTimeout = errno === LOCK_WAIT_TIMEOUT && this.server.rollbackOnTimeout;
    return isTimeout || rollsBack({ errno, sqlState: "" });
  }

  /** #stillIn reports whether the transaction is open: MySQL takes a savepoint outside of one, and sets none. */
  async #stillIn(signal: AbortSignal): Promise<boolean> {
    if (this.server.mariaDB) {
      return Number((await this.session.query(signal, "SELECT @@in_transaction LIMIT 1")).rows[0]![0]) === 1;
    }
    await this.session.query(signal, "SAVEPOINT idempotent_check");
    try {
      await this.session.query(signal, "RELEASE SAVEPOINT idempotent_check");
      return true;
    } catch (error) {
      if (numberOf(error) === NO_SAVEPOINT) {
        return false;
      }
      throw error;
    }
  }
}
