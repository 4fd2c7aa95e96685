// The adapter for node:http without a framework.

import type { IncomingMessage, ServerResponse } from "node:http";
import { KitError } from "../errors.js";
import { runBuffered, send, type BufferedAnswer } from "../response/buffered.js";
import {
  isSafe,
  noTransaction,
  principalOf,
  type Exchange,
  type LongRoute,
  type PrincipalOption,
  type Route,
} from "../http/exchange.js";
import { bodyOf, headerOf, hostOf } from "../http/incoming.js";
import type { Kit } from "../kit.js";
import type { Work } from "../once/work.js";

export { singlePrincipal } from "../http/exchange.js";
export { keepRawBody } from "../http/incoming.js";

/** NodeOptions configure {@link nodeIdempotency}. */
export interface NodeOptions {
  /**
   * Says who makes a request: an account or client ID that the request's
   * authentication has proved, never a token, which changes. undefined or "" is
   * answered 401. For signed calls: a verifier.
   */
  readonly principal: PrincipalOption<IncomingMessage>;
  /**
   * Answers a request whose handler has failed, after the rollback. The default logs the
   * error and answers 500 `handler_failed`. What onError throws, the listener rejects
   * with: in a framework with an error handler of its own, throw the error on.
   */
  readonly onError?: (error: unknown, request: IncomingMessage, response: ServerResponse) => unknown;
}

/** Listener answers a request. */
export type Listener = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/**
 * nodeIdempotency makes the wrapper `idempotent({ scope }, handler)` for listeners of
 * node:http and node:http2. The handler gets a response that is held back until the work
 * and the response are committed together, the transaction, and the body of the request.
 */
export function nodeIdempotency<Tx>(kit: Kit<Tx>, options: NodeOptions) {
  const see = (request: IncomingMessage): Exchange => ({
    method: request.method ?? "",
    host: hostOf(request),
    target: request.url ?? "",
    header: headerOf(request),
    principal: principalOf(options.principal, request),
    body: (limit) => bodyOf(request, limit),
  });
  const onError: NonNullable<NodeOptions["onError"]> =
    options.onError ??
    ((error, _request, response) => {
      if (response.headersSent) {
        response.destroy(); // of a method without a key
      }
      send(response, { kit: kit.http.refuse(new KitError("handler_failed", "the handler failed", { cause: error })) });
    });
  const listener =
    (run: (request: IncomingMessage, response: ServerResponse) => Promise<BufferedAnswer | undefined>): Listener =>
    async (request, response) => {
      try {
        const answer = await run(request, response);
        if (answer !== undefined) {
          send(response, answer);
        }
      } catch (error) {
        await onError(error, request, response);
      }
    };
  const wrap = (
    route: Route,
    handler: (request: IncomingMessage, response: ServerResponse, tx: Tx, body: Uint8Array) => unknown,
  ): Listener =>
    listener(async (request, response) => {
      if (!isSafe(request.method ?? "")) {
        const run = (tx: Tx, body: Uint8Array, held: ServerResponse) => handler(request, held, tx, body);
        return runBuffered(kit.http, route, see(request), [request, response], run);
      }
      const refusal = await kit.http.refusal(see(request));
      if (refusal !== undefined) {
        return { kit: refusal };
      }
      await handler(request, response, noTransaction<Tx>(request.method ?? ""), new Uint8Array());
      return undefined;
    });
  /** accept is for long work: 202 at once, and fn afterwards. */
  const accept = (route: LongRoute, fn: (work: Work<Tx>) => unknown): Listener =>
    listener(async (request) => ({ kit: await kit.http.accept(see(request), route, fn) }));
  return Object.assign(wrap, { accept });
}
