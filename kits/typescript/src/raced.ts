// Waiting for a driver, which takes no signal.

/** raced waits for the promise, or throws the signal's reason when it aborts first. */
export function raced<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) {
      abort();
    }
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

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

/** overMessage is what work gets that goes on after it has returned or has taken too long. */
export const OVER = "the work of this transaction is over: await every query before the handler returns";
