// The kit's own error answers (RFC 9457).

import type { Code, KitError } from "./errors.js";

/** Problem is an error answer of the kit. Its code is stable. */
export interface Problem {
  readonly type: "about:blank";
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: Code;
}

const texts: Record<Code, readonly [status: number, title: string, detail: string]> = {
  missing_idempotency_key: [
    400,
    "Idempotency key required",
    "Send an Idempotency-Key header: 1 to 128 characters that name this operation, the same on every retry.",
  ],
  invalid_idempotency_key: [400, "Invalid idempotency key", ""],
  invalid_idempotency_request: [400, "Invalid request", ""],
  unidentified_caller: [
    401,
    "Unidentified caller",
    "Keys belong to a caller, and this request does not prove who makes it.",
  ],
  request_too_large: [413, "Request too large", ""],
  request_body_consumed: [
    500,
    "Defect in the service",
    "The request's body was read before its idempotency key was looked at, so that payloads cannot be told apart. Put what reads it inside the idempotent handler.",
  ],
  idempotency_handler_misplaced: [
    500,
    "Defect in the service",
    "An idempotent handler runs inside another one, and would answer before that is committed. Wrap the route once.",
  ],
  idempotency_key_payload_mismatch: [
    409,
    "Idempotency key used with another payload",
    "This key belongs to a request with another method, path, query or body. Repeat that request, or use a new key.",
  ],
  idempotency_key_in_progress: [
    409,
    "In progress",
    "The first request with this key is still running. Ask again with the same key after Retry-After.",
  ],
  run_too_late: [
    412,
    "Too late",
    "The time in Cronce-Send-Before has passed and no reply is stored. Nothing was done.",
  ],
  idempotency_store_unavailable: [
    503,
    "Key store unavailable",
    "Whether this key was used before cannot be looked up now. Ask again with the same key.",
  ],
  idempotency_outcome_unknown: [
    409,
    "Outcome unknown",
    "A call to another system was made under this key and its outcome is not known. It is not repeated until that is settled.",
  ],
  run_too_long: [
    503,
    "Took too long",
    "The operation took longer than this service allows and was rolled back. Ask again with the same key.",
  ],
  reply_too_large: [
    500,
    "Reply too large",
    "The operation's reply is larger than this service allows under an idempotency key. The operation was rolled back.",
  ],
  response_bypassed: [
    500,
    "Defect in the service",
    "The operation answered past its response, on the connection itself or with an informational status. That cannot be held back until the commit, so the operation was rolled back.",
  ],
  success_after_rollback: [
    500,
    "Defect in the service",
    "The operation failed and was rolled back, and what is around it answered that it succeeded. Ask again with the same key.",
  ],
  handler_failed: [500, "Not done", "The operation failed and was rolled back. Ask again with the same key."],
  transaction_aborted: [
    500,
    "Not done",
    "The database refused to commit the operation and rolled it back. Ask again with the same key.",
  ],
  transaction_ended_by_handler: [
    500,
    "Defect in the service",
    "The operation ended its transaction itself. It is not known whether it was done, and it is not repeated under this key.",
  ],
  signature_refused: [401, "Signature refused", ""],
  verification_keys_unavailable: [
    503,
    "Keys unavailable",
    "The caller's keys cannot be read at the moment. Send the same request again.",
  ],
  lease_lost: [409, "In progress", "Another worker has this key. Ask again with the same key after Retry-After."],
  service_shutting_down: [503, "Shutting down", "This process starts no more long work. Ask again with the same key."],
};

/** Codes whose message says more than the fixed detail, and nothing that a caller may not know. */
const TELLING = new Set<Code>([
  "invalid_idempotency_key",
  "invalid_idempotency_request",
  "request_too_large",
  "signature_refused",
]);

/** @internal statusOf is the status that a code is answered with. */
export const statusOf = (code: Code): number => texts[code][0];

/** problemOf is the answer for an error of the kit (RFC 9457). It tells a caller no more than a caller may know. */
export function problemOf(error: KitError, mismatchStatus: 409 | 422 = 409): Problem {
  const [status, title, detail] = texts[error.code];
  return {
    type: "about:blank",
    title,
    status: error.code === "idempotency_key_payload_mismatch" ? mismatchStatus : status,
    detail: TELLING.has(error.code) ? error.message : detail,
    code: error.code,
  };
}

/** retryable reports whether asking again soon may help. */
export function retryable(problem: Problem): boolean {
  return problem.code === "idempotency_key_in_progress" || problem.status === 503;
}
