// What can go wrong, by the codes that all kits share.

import { statusOf } from "./problem.js";

/** Codes of the kit's answers. They are stable and the same in every language. */
export type Code =
  | "missing_idempotency_key"
  | "invalid_idempotency_key"
  | "invalid_idempotency_request"
  | "unidentified_caller"
  | "request_too_large"
  | "request_body_consumed"
  | "idempotency_handler_misplaced"
  | "idempotency_key_payload_mismatch"
  | "idempotency_key_in_progress"
  | "run_too_late"
  | "idempotency_store_unavailable"
  | "idempotency_outcome_unknown"
  | "run_too_long"
  | "reply_too_large"
  | "response_bypassed"
  | "success_after_rollback"
  | "handler_failed"
  | "transaction_aborted"
  | "transaction_ended_by_handler"
  | "signature_refused"
  | "verification_keys_unavailable"
  | "lease_lost"
  | "service_shutting_down";

/**
 * brand makes `instanceof` true for errors of another copy of this package, such as
 * one that a library brings along. Subclasses are told apart as always.
 */
function brand(type: abstract new (...args: never[]) => Error, name: string): void {
  const mark = Symbol.for(`@cronce/idempotency.${name}`);
  Object.defineProperty(type.prototype, mark, { value: true });
  Object.defineProperty(type, Symbol.hasInstance, {
    value(this: unknown, value: unknown) {
      const own = Function.prototype[Symbol.hasInstance].call(this as typeof type, value);
      return own || (this === type && value instanceof Error && mark in value);
    },
  });
}

/**
 * KitError is an error of the kit itself. Its code says what it means; `cause` says
 * why. Its status is that of the kit's answer: frameworks answer it for an error of a
 * handler.
 */
export class KitError extends Error {
  override readonly name = "KitError";
  readonly status: number;
  /** The same, for Fastify and Nest. */
  readonly statusCode: number;

  constructor(
    readonly code: Code,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.status = this.statusCode = statusOf(code);
  }
}

/** hasCode reports whether an error is a {@link KitError} with this code. */
export function hasCode(error: unknown, code: Code): error is KitError {
  return error instanceof KitError && error.code === code;
}

/** LostRace is for stores: a live record appeared while the work ran, and the work was rolled back. */
export class LostRace extends Error {
  override readonly name = "LostRace";
}

/**
 * FinalError is thrown by the work of `once` when every repetition would fail in
 * the same way: a card that is declined, an order that is closed. The work is
 * rolled back, the message is stored, and every repetition gets it.
 */
export class FinalError extends Error {
  override readonly name = "FinalError";
}

/**
 * NotDone is thrown by `callOnce`'s `do` when the call certainly had no effect,
 * so that the key is free again.
 */
export class NotDone extends Error {
  override readonly name = "NotDone";
}

brand(KitError, "KitError");
brand(LostRace, "LostRace");
brand(FinalError, "FinalError");
brand(NotDone, "NotDone");

export const mismatch = () =>
  new KitError("idempotency_key_payload_mismatch", "the idempotency key was used with another payload");
export const inProgress = () =>
  new KitError(
    "idempotency_key_in_progress",
    "the first call with this idempotency key is still in progress; ask again later with the same key",
  );
export const tooLate = () =>
  new KitError("run_too_late", "the call arrived after its send-before time; nothing was done");
export const unavailable = (doing: string, cause: unknown) =>
  new KitError("idempotency_store_unavailable", `the idempotency store is unavailable: ${doing}`, { cause });
export const outcomeUnknown = (cause?: unknown) =>
  new KitError("idempotency_outcome_unknown", "the outcome of the external call is unknown", { cause });
export const runTooLong = () =>
  new KitError("run_too_long", "the work took longer than maxRunMs and was rolled back; the key is free");
export const transactionEnded = (cause?: unknown) =>
  new KitError(
    "transaction_ended_by_handler",
    "the work committed or rolled back the kit's transaction: leave both to the kit",
    { cause },
  );
export const transactionAborted = (cause?: unknown) =>
  new KitError(
    "transaction_aborted",
    "the work's transaction could not be committed and was rolled back; the key is free",
    { cause },
  );
export const leaseLost = () => new KitError("lease_lost", "the lease on the idempotency key is lost");
export const shuttingDown = () => new KitError("service_shutting_down", "the service is shutting down");
export const replyTooLarge = (message: string) => new KitError("reply_too_large", message);
export const successAfterRollback = (cause: unknown) =>
  new KitError(
    "success_after_rollback",
    "the work was rolled back, and an error handler or middleware around the route answered with a status below 400; answer failures with 400 or more",
    { cause },
  );
export const responseBypassed = () =>
  new KitError(
    "response_bypassed",
    "the handler took the connection past its response, which cannot be held back until the commit; answer through the response",
  );
