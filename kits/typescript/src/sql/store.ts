// What the stores on SQL databases have in common: each method but those of a
// transaction with work in it.

import * as timers from "node:timers/promises";
import { unavailable } from "../errors.js";
import type { Reply } from "../reply.js";
import { claimant, columns, lease } from "./rows.js";
import type { Common, Statement, Values } from "./statements.js";
import { decideLong, type Claim, type KeyStatus } from "../store.js";

/** Done is what a statement gave. */
export interface Done<Row> {
  readonly rows: Row[];
  readonly changed: number;
}

/** Session runs statements on one connection. */
export interface Session<Row> {
  release(signal: AbortSignal): void | Promise<void>;
  /** rollBack rolls back and gives the connection back, or ends one that cannot be told to. */
  rollBack(signal: AbortSignal): Promise<void>;
  query(signal: AbortSignal, sql: string): Promise<Done<Row>>;
  run(signal: AbortSignal, statement: Statement, values: Values): Promise<Done<Row>>;
}

/** SqlStore keeps keys in one table of an SQL database. */
export abstract class SqlStore<Row extends readonly unknown[], S extends Session<Row>> {
  protected abstract readonly sql: Common;
  /** What an error calls the engine and the table, and how the table is made. */
  protected abstract readonly names: { readonly engine: string; readonly table: string; readonly create: string };
  /** The statements that begin a transaction without work. */
  protected abstract readonly begins: readonly string[];
  protected abstract take(signal: AbortSignal): Promise<S>;
  /** isRefused reports whether the server understood a statement and would not do it. */
  protected abstract isRefused(error: unknown): boolean;
  /** checkSettings throws for settings of a connection with which calls would fail. */
  protected abstract checkSettings(session: S, signal: AbortSignal): Promise<void>;
  /** once runs a statement that is a transaction of its own. */
  protected abstract once(doing: string, signal: AbortSignal, statement: Statement, values: Values): Promise<Done<Row>>;
  /** insert takes the key for the values' `claim`, unless a live row has it. */
  protected abstract insert(session: S, values: Values, signal: AbortSignal): Promise<boolean>;
  /** values are a claim's. */
  protected abstract values(claim: Claim): Values;
  protected abstract scanStatus(row: Row): KeyStatus;

  /** isVictim reports whether the server has rolled the transaction back in favour of another one. */
  protected isVictim(_error: unknown): boolean {
    return false;
  }

  /** inSession runs fn on a connection, which fn gives back unless it throws. The victim of a deadlock begins again. */
  protected async inSession<T>(doing: string, signal: AbortSignal, fn: (session: S) => Promise<T>): Promise<T> {
    for (;;) {
      const session = await this.take(signal);
      try {
        return await fn(session);
      } catch (error) {
        await session.rollBack(signal);
        if (!this.isVictim(error) || signal.aborted) {
          throw unavailable(doing, error);
        }
        await timers.setTimeout(20 * Math.random()); // a full lock table lasts, and tries at once would not let it recover
      }
    }
  }

  /** alone runs fn in a transaction of its own. */
  protected alone<T>(doing: string, signal: AbortSignal, fn: (session: S) => Promise<T>): Promise<T> {
    return this.inSession(doing, signal, async (session) => {
      for (const statement of this.begins) {
        await session.query(signal, statement);
      }
      const result = await fn(session);
      await session.query(signal, "COMMIT");
      await session.release(signal);
      return result;
    });
  }

  async check(signal: AbortSignal): Promise<void> {
    const session = await this.take(signal);
    try {
      for (const statement of this.sql.checks) {
        await session.run(signal, statement, {});
      }
      await this.checkSettings(session, signal);
    } catch (error) {
      if (!this.isRefused(error)) {
        throw error;
      }
      const { engine, table, create } = this.names;
      throw new Error(
        `${engine}: the table ${table} cannot be used: ${(error as Error).message}; create it (${create}) and GRANT SELECT, INSERT, UPDATE, DELETE on it`,
        { cause: error },
      );
    } finally {
      await session.release(signal);
    }
  }

  async lookup(claim: Claim, signal: AbortSignal): Promise<KeyStatus> {
    const { rows } = await this.once("look the key up", signal, this.sql.lookup, this.values(claim));
    return this.scanStatus(rows[0]!);
  }

  /**
   * @internal committedByWork reports, after the rollback, whether the work has committed the claim's
   * transaction: its row is there.
   */
  async committedByWork(claim: Claim): Promise<boolean> {
    // The time of the rollback may be used up by a connection that gave no answer.
    const status = await this.lookup(claim, AbortSignal.timeout(5_000)).catch(() => undefined);
    return status?.record?.owner === claimant(claim);
  }

  /** @internal lookupIn looks the key up in a session. */
  async lookupIn(session: S, values: Values, signal: AbortSignal): Promise<KeyStatus> {
    return this.scanStatus((await session.run(signal, this.sql.lookup, values)).rows[0]!);
  }

  /** It looks in a statement of its own after the write, whose snapshot does not show a row that was committed meanwhile. */
  async reserve(claim: Claim, leaseMs: number, takeOver: boolean, signal: AbortSignal): Promise<KeyStatus> {
    const values = { ...this.values(claim), claim: claim.owner, state: "calling", lease: leaseMs, ttl: null };
    return this.alone("reserve the key", signal, async (session) => {
      const held = takeOver
        ? (await session.run(signal, this.sql.takeOver, values)).changed === 1
        : await this.insert(session, values, signal);
      const status = await this.lookupIn(session, values, signal);
      return held ? { held, tooLate: status.tooLate ?? false } : { ...status, held };
    });
  }

  markUnknown(claim: Claim, signal: AbortSignal): Promise<boolean> {
    return this.#owned(this.sql.markUnknown, claim, signal);
  }

  release(claim: Claim, signal: AbortSignal): Promise<boolean> {
    return this.#owned(this.sql.release, claim, signal);
  }

  abandon(claim: Claim, signal: AbortSignal): Promise<boolean> {
    return this.#owned(this.sql.abandon, claim, signal);
  }

  async #owned(statement: Statement, claim: Claim, signal: AbortSignal): Promise<boolean> {
    return (await this.once("give the key up", signal, statement, this.values(claim))).changed === 1;
  }

  #accepted(claim: Claim): Values {
    const [held, lives] = lease(claim);
    return { ...this.values(claim), claim: claim.owner, state: "accepted", lease: held, ttl: lives };
  }

  async accept(claim: Claim, signal: AbortSignal): Promise<KeyStatus> {
    const values = this.#accepted(claim);
    return this.alone("accept the work", signal, async (session) => {
      let held = await this.insert(session, values, signal);
      let status = await this.lookupIn(session, values, signal);
      if (held && status.tooLate) {
        await session.run(signal, this.sql.abandon, values);
        return { tooLate: true, held: false };
      }
      if (!held && decideLong(status, claim) === "doWork" && status.record !== undefined) {
        held = (await session.run(signal, this.sql.takeOverWork, values)).changed === 1;
        status = await this.lookupIn(session, values, signal);
      }
      return { ...status, held };
    });
  }

  /** A server may count no row whose values are the same as before. */
  async renew(claim: Claim, progress: Uint8Array | undefined, signal: AbortSignal): Promise<boolean> {
    const values = { ...this.#accepted(claim), body: this.bodyOf(progress) };
    if ((await this.once("renew the lease", signal, this.sql.renew, values)).changed === 1) {
      return true;
    }
    const { record } = await this.lookup(claim, signal);
    return record?.state === "accepted" && record.owner === claim.owner;
  }

  /** bodyOf is a body as the database takes it. */
  protected abstract bodyOf(body: Uint8Array | undefined): unknown;
  /** headersOf are headers, which are JSON, as the database takes them. */
  protected abstract headersOf(headers: string | null): unknown;

  /** @internal replied are a claim's values with those of its reply. */
  replied(claim: Claim, reply: Reply): Values {
    const [state, status, headers] = columns(reply);
    return { ...this.values(claim), state, status, headers: this.headersOf(headers), body: this.bodyOf(reply.body) };
  }

  async countExpired(scope: string | undefined, signal: AbortSignal): Promise<Map<string, number>> {
    const { rows } = await this.once("count the expired keys", signal, this.sql.count, { only: scope });
    return new Map(rows.map(([name, n]) => [String(name), Number(n)]));
  }
}
