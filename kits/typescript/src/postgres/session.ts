// A client of a pool of pg, with what the kit knows of its state.

import { randomBytes } from "node:crypto";
import type { Pool, PoolClient, QueryArrayResult } from "pg";
import { unavailable } from "../errors.js";
import { abortable } from "../sql/abortable.js";
import type { Done } from "../sql/store.js";
import type { Statement, Values } from "../sql/statements.js";

/** Values come as the server's text, whatever type parsers the service has set. */
const RAW = { getTypeParser: () => (value: unknown) => value };

export type Row = (string | null)[];

/** Session is a client of the pool, with what the kit knows of its state. */
export class Session {
  readonly #onError = (error: Error) => {
    this.broken ??= error;
  };
  broken: unknown;
  /** Of the work. A name that the work could guess could stand for a transaction of its own. */
  readonly savepoint = `idempotent_${randomBytes(9).toString("hex")}`;

  private constructor(readonly client: PoolClient) {
    // The server ends a session that is silent for too long. Without a listener
    // that would end the process.
    client.on("error", this.#onError);
  }

  static async take(pool: Pool, signal: AbortSignal): Promise<Session> {
    const connecting = pool.connect();
    let client: PoolClient;
    try {
      client = await abortable(connecting, signal);
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
    return new Session(client);
  }

  run(signal: AbortSignal, statement: Statement, values: Values): Promise<Done<Row>> {
    return this.query(signal, statement.text, statement.args(values));
  }

  /** query runs a statement. A connection that gave no answer in time is not used again. */
  async query(signal: AbortSignal, text: string, values?: unknown[]): Promise<Done<Row> & { command: string }> {
    const config = { text, rowMode: "array" as const, types: RAW, ...(values && { values }) };
    try {
      const result: QueryArrayResult<Row> | QueryArrayResult<Row>[] = await abortable(
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

  async rollBack(signal: AbortSignal): Promise<void> {
    if (this.broken === undefined) {
      await this.query(signal, "ROLLBACK").catch((error: unknown) => {
        this.broken ??= error;
      });
    }
    this.release();
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
export function refused(error: unknown): string | undefined {
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown };
  if (typeof code !== "string" || !/^[0-9A-Z]{5}$/.test(code) || severity === "FATAL" || severity === "PANIC") {
    return undefined;
  }
  return /^(08|53|57|58)/.test(code) ? undefined : code; // connection, resources, operator, system
}
