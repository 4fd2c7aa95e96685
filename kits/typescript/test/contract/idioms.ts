// What handlers do, and what their clients get.

import type { IncomingMessage, ServerResponse } from "node:http";

/** clients are the real responses, past the adapters. */
export const clients = new WeakMap<IncomingMessage, ServerResponse>();

/** Idiom is one way of answering. H is the framework's arguments. */
export interface Idiom<H> {
  /** answers does it after the handler has written its effect. */
  readonly answers: (given: H) => unknown;
  readonly want: Want;
  /** The handler is no promise: it answers from a callback. */
  readonly callback?: boolean;
}

/** Want is what a client gets. */
export interface Want {
  /**
   * done: the effect and the answer are committed; final: only the answer is
   * stored; failed: nothing is; refused: nothing is, and the kit says why; cut: nothing
   * is, and the connection is closed without an answer, or on some versions of Node.js
   * after an error.
   */
  readonly kind: "done" | "final" | "failed" | "refused" | "cut";
  readonly status: number;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string | null>>;
  readonly code?: string;
}

export const done = (status: number, body: string, headers: Want["headers"] = {}): Want => ({
  kind: "done",
  status,
  body,
  headers,
});
export const final = (status: number, body?: string): Want => ({ kind: "final", status, ...(body && { body }) });
export const failed = (status = 500): Want => ({ kind: "failed", status });
export const refused = (code: string, status = 500): Want => ({ kind: "refused", status, code });
export const cut: Want = { kind: "cut", status: 0 };
export const bypassed = refused("response_bypassed");
export const tooLong = refused("run_too_long", 503);
