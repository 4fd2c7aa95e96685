// The adapter for Hono.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Context, Env, Handler, Input } from "hono";
import { Capture } from "./capture.js";
import { KitError, responseBypassed, runTooLong } from "./errors.js";
import { exchangeOf, noTransaction, readBody, runFetch, sentBody } from "./fetch.js";
import {
  asKitError,
  isSafe,
  principalOf,
  tooLarge,
  type LongRoute,
  type PrincipalOption,
  type Ready,
  type Route,
} from "./http.js";
import type { Kit } from "./kit.js";
import { turn } from "./plug.js";
import type { Work } from "./work.js";

export { singlePrincipal } from "./fetch.js";

/** HonoOptions configure {@link honoIdempotency}. */
export interface HonoOptions<E extends Env> {
  /**
   * Says who makes a request: an account or client ID that the request's
   * authentication has proved, never a token, which changes. undefined or "" is
   * answered 401. `singlePrincipal` is the explicit way to do without.
   */
  readonly principal: PrincipalOption<Context<E>>;
}

/** WithTx is an environment whose context has the transaction as `c.var.tx`. */
export type WithTx<E extends Env, Tx> = E & { Variables: { tx: Tx } };

/**
 * honoIdempotency makes the wrapper `idempotent({ scope }, handler)` for routes. The
 * handler finds its transaction in `c.var.tx`. Its response is held back until the
 * work and the response are committed together.
 */
export function honoIdempotency<Tx, E extends Env = Env>(kit: Kit<Tx>, options: HonoOptions<E>) {
  const running = new WeakSet<Request>();
  const see = (c: Context<E>) => {
    const request = c.req.raw;
    const incoming = (c.env as { incoming?: { url?: string } } | undefined)?.incoming;
    const url = new URL(request.url);
    return exchangeOf(request, {
      host: request.headers.get("host") ?? url.host,
      target: incoming?.url ?? url.pathname + url.search,
      principal: principalOf(options.principal, c),
      body: (limit: number) => contextBody(c, limit),
    });
  };
  const wrap = <P extends string, I extends Input>(
    route: Route,
    handler: (c: Context<WithTx<E, Tx>, P, I>) => Response | Promise<Response>,
  ): Handler<E, P, I, Promise<Response>> => {
    return async (context) => {
      const c = context as unknown as Context<WithTx<E, Tx>, P, I>;
      const request = c.req.raw;
      const give = (tx: Tx) => (c as unknown as Context<{ Variables: { tx: Tx } }>).set("tx", tx);
      const render = (answer: Ready) => rendered(c as unknown as Context, answer);
      if (isSafe(request.method)) {
        const refusal = await kit.http.refusal(see(c as unknown as Context<E>));
        give(noTransaction<Tx>(request.method));
        return refusal === undefined ? handler(c) : render(refusal);
      }
      if (running.has(request)) {
        return render(kit.http.refuse(new KitError("idempotency_handler_misplaced", "the route is wrapped twice")));
      }
      running.add(request);
      const outside = headersOf(c);
      const bindings = c.env as Bindings | undefined;
      const node = bindings?.incoming && bindings.outgoing && { ...bindings };
      if (node && !(await turn(node.outgoing!, route.maxRunMs ?? kit.http.options.maxRunMs))) {
        return render(kit.http.refuse(runTooLong()));
      }
      let capture: Capture | undefined;
      const run = async (tx: Tx) => {
        give(tx);
        if (node) {
          // What is written past Hono must not reach the client.
          capture = new Capture(node.incoming!, node.outgoing!, kit.http.options.maxReplyBody);
          (c as { env: unknown }).env = { ...bindings, outgoing: capture.response };
        }
        const response = await handler(c);
        if (capture?.touched || response.headers.has("x-hono-already-sent")) {
          throw responseBypassed();
        }
        return response;
      };
      let done = false;
      const whenDone = (answer: Ready) => {
        restoreHeaders(c, outside);
        return render(answer);
      };
      try {
        const response = await runFetch(kit, route, see(c as unknown as Context<E>), run, whenDone);
        done = true;
        return response;
      } finally {
        capture?.release();
        (c as { env: unknown }).env = bindings;
        if (!done) {
          restoreHeaders(c, outside);
        }
      }
    };
  };
  /** accept is for long work: 202 at once, and fn afterwards. */
  const accept =
    <P extends string, I extends Input>(
      route: LongRoute,
      fn: (work: Work<Tx>) => unknown,
    ): Handler<E, P, I, Promise<Response>> =>
    async (c) =>
      rendered(c as unknown as Context, await kit.http.accept(see(c as unknown as Context<E>), route, fn));
  return Object.assign(wrap, { accept });
}

/** Bindings are what @hono/node-server gives of node:http. */
interface Bindings {
  readonly incoming?: IncomingMessage;
  readonly outgoing?: ServerResponse;
}

/** headersOf are the headers that are set on a context. */
const headersOf = (c: { body: Context["body"] }) => new Headers(c.body(null).headers);

/** restoreHeaders takes back what a handler has set whose work is rolled back. */
function restoreHeaders(c: Pick<Context, "body" | "header">, outside: Headers): void {
  for (const name of headersOf(c).keys()) {
    c.header(name, undefined);
  }
  for (const [name, value] of outside) {
    c.header(name, value, { append: true });
  }
}

/** contextBody reads the body and keeps it for the handler, whatever middleware has read of it before. */
async function contextBody(c: { req: Context["req"] }, limit: number): Promise<Uint8Array> {
  const cache = c.req.bodyCache as { arrayBuffer?: Promise<ArrayBuffer> | ArrayBuffer };
  if (!c.req.raw.bodyUsed && Object.keys(cache).length === 0) {
    const body = await readBody(c.req.raw, limit);
    cache.arrayBuffer = Promise.resolve(
      body.buffer.slice(body.byteOffset, body.byteOffset + body.byteLength) as ArrayBuffer,
    );
    return body;
  }
  if (Object.keys(cache).length === 0) {
    throw new KitError("request_body_consumed", "the body was read before, past c.req");
  }
  let body: Uint8Array;
  try {
    body = new Uint8Array(await c.req.arrayBuffer());
  } catch (error) {
    throw asKitError(error);
  }
  if (body.length > limit) {
    throw tooLarge(limit);
  }
  return body;
}

/** rendered keeps the headers that middleware outside has set on the context. */
function rendered(c: Context, answer: Ready): Response {
  const response = c.newResponse(sentBody(answer), answer.status as 200);
  for (const [name, value] of answer.headers) {
    if (/^(vary|link)$/i.test(name)) {
      response.headers.append(name, value); // lists, to which middleware has added too
    } else {
      response.headers.set(name, value);
    }
  }
  return response;
}
