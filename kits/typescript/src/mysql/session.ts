// A connection of a pool of mysql2, with what the kit knows of its state.

import type { Pool, PoolConnection } from "mysql2/promise";
import { unavailable } from "../errors.js";
import { abortable } from "../sql/abortable.js";
import type { Done } from "../sql/store.js";
import type { Statement, Values } from "../sql/statements.js";

export const DUPLICATE_KEY = 1062;
export const LOCK_WAIT_TIMEOUT = 1205;
export const NO_SAVEPOINT = 1305;

/**
 * ROLLS_BACK are the errors with which every server rolls the whole transaction back: a row
 * has changed (MariaDB with innodb_snapshot_isolation), the lock table is full, a deadlock.
 */
const ROLLS_BACK = [1020, 1206, 1213];

/** rollsBack reports whether the server has rolled the transaction back with an error. */
export const rollsBack = (error: unknown): boolean => ROLLS_BACK.includes(numberOf(error) ?? 0);

/** numberOf is the server's error number; undefined when the error is not the server's. */
export function numberOf(error: unknown): number | undefined {
  const { errno, sqlState } = (error ?? {}) as { errno?: unknown; sqlState?: unknown };
  return typeof errno === "number" && typeof sqlState === "string" ? errno : undefined;
}

export type Row = (string | number | bigint | Buffer | null)[];

/** Session is a connection of the pool, with what the kit knows of its state. */
export class Session {
  broken = false;
  #limited = false; // its wait_timeout is the work's

  private constructor(readonly connection: PoolConnection) {}

  static async take(pool: Pool, signal: AbortSignal): Promise<Session> {
    const connection = pool.getConnection();
    try {
      return new Session(await abortable(connection, signal));
    } catch (error) {
      connection.then(
        (late) => late.release(),
        () => {},
      );
      throw unavailable("connect", error);
    }
  }

  run(signal: AbortSignal, statement: Statement, values: Values): Promise<Done<Row>> {
    return this.query(signal, statement.text, statement.args(values));
  }

  /** query runs a statement. A connection that gave no answer in time is not used again. */
  async query(signal: AbortSignal, sql: string, values: unknown[] = []): Promise<Done<Row>> {
    try {
      // Values as the driver reads them without the service's own type casts.
      const options = { sql, values, rowsAsArray: true, typeCast: true, dateStrings: true } as const;
      const [result] = await abortable(this.connection.query(options), signal);
      const { affectedRows } = result as { affectedRows?: number };
      return { rows: Array.isArray(result) ? (result as unknown as Row[]) : [], changed: affectedRows ?? 0 };
    } catch (error) {
      this.broken ||= numberOf(error) === undefined;
      throw error;
    }
  }

  /** limit has the server end the session when it is silent for longer than the work may take. */
  async limit(maxRunMs: number, signal: AbortSignal): Promise<void> {
    const seconds = Math.max(1, Math.ceil(maxRunMs / 1000));
    this.#limited = true;
    await this.query(signal, "SET @idempotency_wait = @@SESSION.wait_timeout, SESSION wait_timeout = ?", [seconds]);
  }

  /** release gives the connection back with the settings that it had. */
  async release(signal: AbortSignal): Promise<void> {
    if (this.#limited && !this.broken) {
      await this.query(signal, "SET SESSION wait_timeout = @idempotency_wait").catch(() => {
        this.broken = true;
      });
    }
    if (this.broken) {
      this.connection.destroy();
    } else {
      this.connection.release();
    }
  }

  async rollBack(signal: AbortSignal): Promise<void> {
    if (!this.broken) {
      await this.query(signal, "ROLLBACK").catch(() => {
        this.broken = true;
      });
    }
    await this.release(signal);
  }
}
