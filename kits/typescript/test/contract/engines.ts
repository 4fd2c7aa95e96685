// The two databases of the contract, with a commit that is refused or whose answer is lost.

import { Kit, KitError, type Claim, type OpenTx, type Store } from "@cronce/idempotency";
import type { MysqlTx } from "@cronce/idempotency/mysql2";
import type { PgTx } from "@cronce/idempotency/pg";
import { database, insert, mysqlDatabase } from "../support/database.js";
import type { Client } from "./wire.js";

/** Tx is the transaction of either database. */
export type Tx = PgTx | MysqlTx;

/** What becomes of a commit. */
export type CommitOutcome = "commits" | "is refused" | "is lost";

/** Engine is a database with a kit. */
export interface Engine {
  readonly name: string;
  readonly store: Store<Tx>;
  /** write writes the operation's effect. */
  write(tx: Tx, operation: string): Promise<unknown>;
  effects(operation: string): Promise<number>;
  /** breaks lets the database refuse the transaction's commit. */
  breaks(tx: Tx): Promise<unknown>;
  /** taken counts the connections that are not back in the pool. */
  taken(): number;
}

export async function postgres(): Promise<Engine> {
  const pg = await database();
  await pg.pool.query("CREATE TABLE refused (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)");
  return {
    name: "PostgreSQL",
    store: pg.store as Store<Tx>,
    write: (tx, operation) => (tx as PgTx).query(insert, [operation]),
    effects: pg.effects,
    breaks: (tx) => (tx as PgTx).query("INSERT INTO refused VALUES (1), (1)"),
    taken: () => pg.pool.totalCount - pg.pool.idleCount,
  };
}

export async function mariaDB(): Promise<Engine> {
  const mysql = await mysqlDatabase();
  const inner = mysql.pool.pool as unknown as { _allConnections: unknown[]; _freeConnections: unknown[] };
  return {
    name: "MariaDB",
    store: mysql.store as Store<Tx>,
    write: (tx, operation) => (tx as MysqlTx).query("INSERT INTO effects VALUES (?)", [operation]),
    effects: mysql.effects,
    breaks: async (tx) => mysql.pool.query("KILL ?", [(tx as MysqlTx).threadId]),
    taken: () => inner._allConnections.length - inner._freeConnections.length,
  };
}

/** Service is a kit whose commits go as they are told, by key. */
export class Service {
  readonly outcomes = new Map<string, CommitOutcome>();
  readonly clients = new Map<string, Client>();
  /** Keys whose client had bytes before the commit. */
  readonly early: string[] = [];
  readonly kit: Kit<Tx>;

  constructor(readonly engine: Engine) {
    const { store } = engine;
    const begin: Store<Tx>["begin"] = async (claim, signal) => {
      const { open, status } = await store.begin(claim, signal);
      const commit: OpenTx<Tx>["commit"] = (...args) => this.#commit(open, ...args);
      return { status, open: { tx: open.tx, commit, rollback: (s) => open.rollback(s) } };
    };
    const told = new Proxy(store, {
      get: (target, name) => {
        const value = Reflect.get(target, name) as unknown;
        return name === "begin" ? begin : typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
    this.kit = new Kit(told, { logError: () => {}, waitMs: 0 });
  }

  async #commit(open: OpenTx<Tx>, claim: Claim, ...rest: [Parameters<OpenTx<Tx>["commit"]>[1], AbortSignal]) {
    const { value } = claim.key;
    await this.engine.effects(value); // an exchange on the network, in which early bytes would arrive
    if (this.clients.get(value)?.rest) {
      this.early.push(value);
    }
    const outcome = this.outcomes.get(value);
    if (outcome === "is refused") {
      await this.engine.breaks(open.tx);
    }
    const expires = await open.commit(claim, ...rest);
    if (outcome === "is lost") {
      throw new KitError("idempotency_store_unavailable", "the answer to the commit was lost");
    }
    return expires;
  }
}
