// Queries of the work that its transaction refuses.

/** ENDING is SQL that would end the kit's transaction or open another one. */
const ENDING =
  /^\s*(?:begin|start\s+transaction|commit|end|abort|rollback(?!\s+(?:work\s+|transaction\s+)?to\b)|prepare\s+transaction)\b/i;

/** refuseEnding throws for SQL that is the kit's to send. What it does not see the database tells later. */
export function refuseEnding(sql: unknown): void {
  if (typeof sql === "string" && ENDING.test(sql)) {
    throw new Error(
      "this transaction is begun, committed and rolled back by the idempotency kit: return from the handler, or use SAVEPOINT",
    );
  }
}

const OVER = "the work of this transaction is over: await every query before the handler returns";

/**
 * refuseLate answers a query of work that has returned or has taken too long, in the
 * way of the drivers: it throws nothing at once, and a query that nobody awaits does
 * not end the process. So a warning tells of it.
 */
export function refuseLate(args: unknown[]): unknown {
  const error = new Error(OVER);
  process.emitWarning(error.message, "IdempotencyWarning");
  const callback = args.at(-1);
  if (typeof callback === "function") {
    process.nextTick(callback, error);
    return undefined;
  }
  const query = args[0] as { submit?: unknown; handleError?(error: Error): void } | null | undefined;
  if (typeof query?.submit === "function") {
    process.nextTick(() => query.handleError?.(error)); // a cursor or a stream of pg
    return query;
  }
  const refused = Promise.reject(error);
  refused.catch(() => {});
  return refused;
}
