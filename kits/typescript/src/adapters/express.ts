// The adapter for Express.

import type { Request, RequestHandler, Response } from "express";
import { runBuffered, send } from "../response/buffered.js";
import {
  isSafe,
  noTransaction,
  principalOf,
  type Exchange,
  type LongRoute,
  type PrincipalOption,
  type Route,
} from "../http/exchange.js";
import { bodyOf, headerOf, hostOf, keptBody } from "../http/incoming.js";
import type { Kit } from "../kit.js";
import type { Work } from "../once/work.js";

export { singlePrincipal } from "../http/exchange.js";
export { keepRawBody } from "../http/incoming.js";

/** ExpressOptions configure {@link expressIdempotency}. */
export interface ExpressOptions {
  /**
   * Says who makes a request: an account or client ID that the request's
   * authentication has proved, never a token, which changes. undefined or "" is
   * answered 401. For signed calls: a verifier.
   */
  readonly principal: PrincipalOption<Request>;
}

/**
 * expressIdempotency makes the wrapper `idempotent({ scope }, handler)` for routes.
 * The handler gets a response that is held back until the work and the response are
 * committed together, and the transaction as its third argument.
 * Where no body parser has run, `request.body` is the parsed JSON, or the bytes.
 */
export function expressIdempotency<Tx>(kit: Kit<Tx>, options: ExpressOptions) {
  const see = (request: Request): Exchange => ({
    method: request.method,
    host: hostOf(request),
    target: request.originalUrl,
    header: headerOf(request),
    principal: principalOf(options.principal, request),
    body: (limit) => bodyOf(request, limit),
  });
  const wrap = (route: Route, handler: (request: Request, response: Response, tx: Tx) => unknown): RequestHandler => {
    const run = async (request: Request, response: Response) => {
      if (isSafe(request.method)) {
        const refusal = await kit.http.refusal(see(request));
        if (refusal !== undefined) {
          send(response, { kit: refusal });
          return;
        }
        await handler(request, response, noTransaction<Tx>(request.method));
        return;
      }
      const answer = await runBuffered(kit.http, route, see(request), [request, response], (tx, bytes, held) => {
        if (keptBody(request) === undefined) {
          request.body = parsed(request, bytes);
        }
        return handler(request, held as Response, tx);
      });
      send(response, answer);
    };
    // Express 4 does not hear of an error in a promise.
    return (request, response, next) => void run(request, response).catch(next);
  };
  /** accept is for long work: 202 at once, and fn afterwards. */
  const accept =
    (route: LongRoute, fn: (work: Work<Tx>) => unknown): RequestHandler =>
    (request, response, next) => {
      const run = async () => send(response, { kit: await kit.http.accept(see(request), route, fn) });
      run().catch(next);
    };
  return Object.assign(wrap, { accept });
}

function parsed(request: Request, bytes: Uint8Array): unknown {
  if (!request.is("json") && !request.is("+json")) {
    return bytes;
  }
  try {
    return JSON.parse(Buffer.from(bytes).toString());
  } catch {
    return undefined; // as if there were none: the handler answers 400
  }
}
