// A transaction with work in it, on PostgreSQL.

import type { PoolClient } from "pg";
import { KitError, LostRace, transactionAborted, transactionEnded, unavailable } from "../errors.js";
import type { PgStore } from "./store.js";
import { refused, type Session } from "./session.js";
import { refuseEnding, refuseLate } from "../sql/refuse.js";
import type { Reply } from "../reply.js";
import { lostRace } from "../sql/rows.js";
import type { Claim, OpenTx } from "../store.js";

/**
 * PgTx is the transaction that work writes through: a client of pg, for plain
 * queries, Drizzle and Kysely. The kit commits it or rolls it back; its `release`
 * and `end` throw, and so do BEGIN, COMMIT and ROLLBACK.
 */
export type PgTx = PoolClient;

/** Only who connects asks a client for its password. */
export const OWN_CONNECTION =
  "a library would open connections of its own with the settings of this transaction, and the kit could not roll back what it writes: use a library that takes a client or asPool(tx), or tx.query";

/** OpenPgTx is an open transaction of a store. */
export class OpenPgTx implements OpenTx<PgTx> {
  #over = false;
  #used = false;
  readonly tx: PgTx;

  constructor(
    readonly store: PgStore,
    readonly session: Session,
    readonly claim: Claim,
    readonly began: string,
  ) {
    this.tx = new Proxy(session.client, {
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
      const expiresAt = await this.store.record(this.session, claim, reply, this.began, signal);
      stored = true;
      if ((await this.session.query(signal, "COMMIT")).command !== "COMMIT") {
        throw transactionAborted();
      }
      this.session.release();
      return expiresAt;
    } catch (error) {
      await this.session.rollBack(signal);
      throw explain(error, stored);
    }
  }

  async rollback(signal: AbortSignal): Promise<void> {
    this.#over = true;
    let ended = false;
    if (this.#used) {
      try {
        await this.session.query(signal, `ROLLBACK TO SAVEPOINT ${this.session.savepoint}`);
      } catch (error) {
        // invalid_savepoint_specification, no_active_sql_transaction
        ended = ["3B001", "25P01"].includes(refused(error) ?? "");
      }
    }
    const lost = this.session.broken !== undefined && this.#used;
    await this.session.rollBack(signal);
    if (ended || (lost && (await this.store.committedByWork(this.claim)))) {
      throw transactionEnded();
    }
  }
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
