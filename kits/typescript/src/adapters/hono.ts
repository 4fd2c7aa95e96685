// The adapter for Hono.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Context, Env, Handler, Input, MiddlewareHandler, Next } from "hono";
import type { HTTPException } from "hono/http-exception";
import { Capture, MiddlewareAnswer } from "../response/capture.js";
import { KitError, responseBypassed, runTooLong, successAfterRollback } from "../errors.js";
import { exchangeOf, isResponse, readBody, replyOf, runFetch, sentBody } from "../http/fetch.js";
import { onlyFailures, send, type BufferedAnswer } from "../response/buffered.js";
import {
  asKitError,
  isSafe,
  noTransaction,
  principalOf,
  tooLarge,
  type LongRoute,
  type PrincipalOption,
  type Ready,
  type Route,
} from "../http/exchange.js";
import type { Kit } from "../kit.js";
import { awaitTurn } from "../response/clientguard.js";
import type { Work } from "../once/work.js";

export { singlePrincipal } from "../http/exchange.js";

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

/** HonoIdempotency is what {@link honoIdempotency} makes. */
export interface HonoIdempotency<Tx, E extends Env> {
  /**
   * A middleware before the handler of a route: what follows it is the work. Hono
   * knows the types of parameters, validators and answers then, as without the kit. Hono's
   * error handler is called twice for an error of the work; only its second answer counts.
   */
  (route: Route): MiddlewareHandler<WithTx<E, Tx>>;
  /** A wrapper of the handler of a route, which does not know the types of validators. */
  <P extends string, I extends Input>(
    route: Route,
    handler: (c: Context<WithTx<E, Tx>, P, I>) => Response | Promise<Response>,
  ): Handler<E, P, I, Promise<Response>>;
  /** accept is for long work: 202 at once, and fn afterwards. */
  accept<P extends string, I extends Input>(
    route: LongRoute,
    fn: (work: Work<Tx>) => unknown,
  ): Handler<E, P, I, Promise<Response>>;
}

/**
 * honoIdempotency makes `idempotent({ scope })`, a middleware for routes, which is also
 * a wrapper: `idempotent({ scope }, handler)`. The handler finds its transaction in
 * `c.var.tx`. Its response is held back until the work and the response are committed
 * together.
 */
export function honoIdempotency<Tx, E extends Env = Env>(
  kit: Kit<Tx>,
  options: HonoOptions<E>,
): HonoIdempotency<Tx, E> {
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
      const bindings = c.env as Bindings | undefined;
      const node = bindings?.outgoing && bindings.incoming && (bindings as Required<Bindings>);
      if (node && !(await awaitTurn(node.outgoing, route.maxRunMs ?? kit.http.options.maxRunMs))) {
        return render(kit.http.refuse(runTooLong()));
      }
      const restore = snapshot(c as unknown as Context);
      const limit = kit.http.options.maxReplyBody;
      let capture: Capture | undefined;
      const run = async (tx: Tx) => {
        give(tx);
        if (node) {
          // What is written past Hono must not reach the client.
          capture = new Capture(node.incoming, node.outgoing, limit);
          (c as { env: unknown }).env = { ...bindings, outgoing: capture.response };
        }
        const work = answerOf(c as unknown as Context, () => handler(c)).then((response) => replyOf(response, limit));
        return capture ? capture.unlessAnswered(work) : work;
      };
      const release = () => {
        capture?.release();
        (c as { env: unknown }).env = bindings;
      };
      const whenReady = (answer: Ready) => {
        restore();
        return render(answer);
      };
      const policy = route.policy ?? kit.http.options.policy;
      try {
        const response = await runFetch(kit, route, see(c as unknown as Context<E>), run, whenReady);
        release();
        clear(c as unknown as Context);
        if (node && policy(response.status) !== "commit") {
          onlyFailures(node.outgoing, () => kit.http.refuse(successAfterRollback(undefined)));
        }
        // From the commit on, the stored answer counts and not that of middleware outside.
        return capture?.isAnswered ? sent(node!.outgoing, { own: await replyOf(response, Infinity) }) : response;
      } catch (error) {
        release();
        restore();
        const refusal = () => kit.http.refuse(successAfterRollback(error));
        if (error instanceof MiddlewareAnswer) {
          return sent(node!.outgoing, error.reply.status < 400 ? { kit: refusal() } : { own: error.reply });
        }
        if (node) {
          onlyFailures(node.outgoing, refusal);
        }
        throw error;
      }
    };
  };
  const idempotent = <P extends string, I extends Input>(
    route: Route,
    handler?: (c: Context<WithTx<E, Tx>, P, I>) => Response | Promise<Response>,
  ): Handler<E, P, I, Promise<Response>> =>
    handler ? wrap(route, handler) : (c, next) => wrap<P, I>(route, (inner) => rest(inner, next))(c, next);
  const accept =
    <P extends string, I extends Input>(
      route: LongRoute,
      fn: (work: Work<Tx>) => unknown,
    ): Handler<E, P, I, Promise<Response>> =>
    async (c) =>
      rendered(c as unknown as Context, await kit.http.accept(see(c as unknown as Context<E>), route, fn));
  return Object.assign(idempotent, { accept }) as HonoIdempotency<Tx, E>;
}

/** rest runs what follows a middleware. Hono answers what that throws, but the answer would show what is rolled back. */
async function rest(c: Pick<Context, "error" | "finalized" | "res">, next: Next): Promise<Response> {
  const { error } = c;
  await next();
  if (c.error !== undefined && c.error !== error) {
    throw c.error;
  }
  return c.finalized ? c.res : (undefined as unknown as Response); // which is refused
}

/** Bindings are what @hono/node-server gives of node:http. */
interface Bindings {
  readonly incoming?: IncomingMessage;
  readonly outgoing?: ServerResponse;
}

/** answerOf runs a handler and returns its answer as Hono would: a response that is set counts before one that is returned. */
async function answerOf(c: Context, handler: () => Response | Promise<Response>): Promise<Response> {
  let response: Response;
  try {
    response = await handler();
  } catch (error) {
    response = thrownAnswer(c, error);
    clear(c);
  }
  if (!c.finalized && isResponse(response)) {
    c.res = response; // with the headers that are set on c.res
  }
  if (!c.finalized) {
    throw new TypeError("the handler returned no Response");
  }
  if (c.res.headers.has("x-hono-already-sent")) {
    throw responseBypassed();
  }
  return c.res;
}

/** thrownAnswer is the answer of a handler that throws one: a Response, or an HTTPException that is no failure. */
function thrownAnswer(c: Context, error: unknown): Response {
  if (isResponse(error)) {
    return error;
  }
  if (error instanceof Error && "getResponse" in error) {
    const response = (error as HTTPException).getResponse();
    if (response.status < 400) {
      return c.newResponse(response.body, response);
    }
  }
  throw error;
}

/** clear takes back what is set as the response, so that what is returned counts. */
function clear(c: Context): void {
  (c as { res: Response | undefined }).res = undefined;
  c.finalized = false;
}

/** snapshot returns a function that gives a context back as it is now: its headers and its status, without a response. */
function snapshot(c: Context): () => void {
  const { headers, status } = c.body(null);
  const outside = new Headers(headers);
  const restore = () => {
    clear(c);
    c.status(status as 200);
    for (const name of new Headers(c.body(null).headers).keys()) {
      c.header(name, undefined);
    }
    for (const [name, value] of outside) {
      c.header(name, value, { append: true });
    }
  };
  restore(); // also of a response that middleware outside has set: the handler's counts
  return restore;
}

/** sent answers past Hono, which has answered already, and tells it so. */
function sent(outgoing: ServerResponse, answer: BufferedAnswer): Response {
  send(outgoing, answer);
  const response = new Response(null, { headers: { "x-hono-already-sent": "true" } });
  void response.body; // @hono/node-server looks for the header only on a response that was looked at
  return response;
}

/** contextBody reads the body and keeps it for the handler, whatever middleware has read of it before. */
async function contextBody(c: { req: Context["req"] }, limit: number): Promise<Uint8Array> {
  const cache = c.req.bodyCache as { arrayBuffer?: Promise<ArrayBuffer> | ArrayBuffer; formData?: unknown };
  if (!c.req.raw.bodyUsed && Object.keys(cache).length === 0) {
    const body = new Uint8Array(await readBody(c.req.raw, limit));
    cache.arrayBuffer = Promise.resolve(body.buffer);
    const type = c.req.raw.headers.get("content-type") ?? "";
    // Hono before 4.7 reads a form from the bytes without their type.
    const form = () => new Response(body, { headers: { "Content-Type": type } }).formData();
    Object.defineProperty(cache, "formData", { get: form, configurable: true });
    return body;
  }
  if (Object.keys(cache).length === 0) {
    throw new KitError("request_body_consumed", "the body was read before, past c.req");
  }
  if (Object.keys(cache)[0] === "formData") {
    // Hono would write the form anew, with other bytes for each attempt.
    throw new KitError(
      "request_body_consumed",
      'middleware has read the form, and its bytes are gone: read it in the handler, or with validator("form", …)',
    );
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
  const headers = new Headers(c.body(null).headers); // of a context that may change its own
  for (const [name, value] of answer.headers) {
    if (/^(vary|link)$/i.test(name)) {
      headers.append(name, value); // lists, to which middleware has added too
    } else {
      headers.set(name, value);
    }
  }
  return new Response(sentBody(answer), { status: answer.status, headers });
}
