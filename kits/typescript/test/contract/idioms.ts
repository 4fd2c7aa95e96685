// What handlers do, and what their clients get.

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
   * stored; failed: nothing is; refused: nothing is, and the kit says why.
   */
  readonly kind: "done" | "final" | "failed" | "refused";
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
export const bypassed: Want = { kind: "refused", status: 500, code: "response_bypassed" };
export const tooLong: Want = { kind: "refused", status: 503, code: "run_too_long" };
