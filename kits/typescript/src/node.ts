// The adapter for node:http without a framework.

import type { IncomingMessage, ServerResponse } from "node:http";
import { hold, send } from "./capture.js";
import { noTransaction } from "./fetch.js";
import { isSafe, principalOf, type Exchange, type LongRoute, type PrincipalOption, type Route } from "./http.js";
import { headerOf, readIncoming } from "./incoming.js";
import type { Kit } from "./kit.js";
import type { Work } from "./work.js";

export { singlePrincipal } from "./fetch.js";

/** NodeOptions configure {@link nodeIdempotency}. */
export interface NodeOptions {
  /**
   * Says who makes a request: an account or client ID that the request's
   * authentication has proved, never a token, which changes. undefined or "" is
   * answered 401. For signed calls: a verifier.
   */
  readonly principal: PrincipalOption<IncomingMessage>;
}

/** Listener answers a request. It rejects with the error of the handler, after the rollback; nothing is answered then. */
export type Listener = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/**
 * nodeIdempotency makes the wrapper `idempotent({ scope }, handler)` for listeners of
 * node:http. The handler gets a response that is held back until the work and the
 * response are committed together, the transaction, and the body of the request.
 */
export function nodeIdempotency<Tx>(kit: Kit<Tx>, options: NodeOptions) {
  const see = (request: IncomingMessage): Exchange => ({
    method: request.method ?? "",
    host: request.headers.host ?? "",
    target: request.url ?? "",
    header: headerOf(request),
    principal: principalOf(options.principal, request),
    body: (limit) => readIncoming(request, limit),
  });
  const wrap =
    (
      route: Route,
      handler: (request: IncomingMessage, response: ServerResponse, tx: Tx, body: Uint8Array) => unknown,
    ): Listener =>
    async (request, response) => {
      if (isSafe(request.method ?? "")) {
        await handler(request, response, noTransaction<Tx>(request.method ?? ""), new Uint8Array());
        return;
      }
      const run = (tx: Tx, body: Uint8Array, held: ServerResponse) => handler(request, held, tx, body);
      send(response, await hold(kit.http, route, see(request), [request, response], run));
    };
  /** accept is for long work: 202 at once, and fn afterwards. */
  const accept =
    (route: LongRoute, fn: (work: Work<Tx>) => unknown): Listener =>
    async (request, response) =>
      send(response, { kit: await kit.http.accept(see(request), route, fn) });
  return Object.assign(wrap, { accept });
}
