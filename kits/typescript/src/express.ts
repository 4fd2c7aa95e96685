// The adapter for Express.

import type { Request, RequestHandler, Response } from "express";
import { hold, send } from "./capture.js";
import { KitError } from "./errors.js";
import { noTransaction } from "./fetch.js";
import {
  isSafe,
  principalOf,
  tooLarge,
  type Exchange,
  type LongRoute,
  type PrincipalOption,
  type Route,
} from "./http.js";
import { headerOf, readIncoming } from "./incoming.js";
import type { Kit } from "./kit.js";
import type { Work } from "./work.js";

export { singlePrincipal } from "./fetch.js";

/** ExpressOptions configure {@link expressIdempotency}. */
export interface ExpressOptions {
  /**
   * Says who makes a request: an account or client ID that the request's
   * authentication has proved, never a token, which changes. undefined or "" is
   * answered 401. For signed calls: a verifier.
   */
  readonly principal: PrincipalOption<Request>;
}

const RAW = Symbol.for("@cronce/idempotency.rawBody");

/**
 * keepRawBody is for a body parser that runs before the route, which would leave
 * nothing to compare payloads by: `express.json({ verify: keepRawBody })`.
 */
export function keepRawBody(request: object, _response: unknown, body: Buffer): void {
  (request as Record<symbol, unknown>)[RAW] = body;
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
    host: request.headers.host ?? "",
    target: request.originalUrl,
    header: headerOf(request),
    principal: principalOf(options.principal, request),
    body: (limit) => body(request, (request as unknown as Record<symbol, unknown>)[RAW], limit),
  });
  const wrap = (route: Route, handler: (request: Request, response: Response, tx: Tx) => unknown): RequestHandler => {
    const run = async (request: Request, response: Response) => {
      if (isSafe(request.method)) {
        await handler(request, response, noTransaction<Tx>(request.method));
        return;
      }
      const answer = await hold(kit.http, route, see(request), [request, response], (tx, bytes, held) => {
        if ((request as unknown as Record<symbol, unknown>)[RAW] === undefined) {
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

async function body(request: Request, raw: unknown, limit: number): Promise<Uint8Array> {
  if (raw instanceof Uint8Array) {
    if (raw.length > limit) {
      throw tooLarge(limit);
    }
    return raw;
  }
  if (request.readableDidRead || request.readableEnded) {
    throw new KitError(
      "request_body_consumed",
      "a body parser ran before the route: give it the option { verify: keepRawBody }; in place of a parser of uploads (multer), read the form in the handler with new Response(request.body, { headers: { 'Content-Type': type } }).formData()",
    );
  }
  return readIncoming(request, limit);
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
