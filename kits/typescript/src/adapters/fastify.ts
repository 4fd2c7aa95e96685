// The adapter for Fastify.

import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type {
  FastifyReply,
  FastifyRequest,
  RouteShorthandOptionsWithHandler,
  preParsingAsyncHookHandler,
} from "fastify";
import { runBuffered, send, type BufferedAnswer } from "../response/buffered.js";
import { KitError } from "../errors.js";
import {
  asKitError,
  isSafe,
  noTransaction,
  principalOf,
  tooLarge,
  type Exchange,
  type LongRoute,
  type PrincipalOption,
  type Route,
} from "../http/exchange.js";
import { bodyOf, headerOf, hostOf, readAll } from "../http/incoming.js";
import type { Kit } from "../kit.js";
import { snapshotOf } from "./snapshot.js";
import type { Work } from "../once/work.js";

export { singlePrincipal } from "../http/exchange.js";

/** FastifyOptions configure {@link fastifyIdempotency}. */
export interface FastifyOptions {
  /**
   * Says who makes a request: an account or client ID that the request's
   * authentication has proved, never a token, which changes. undefined or "" is
   * answered 401. For signed calls: a verifier.
   */
  readonly principal: PrincipalOption<FastifyRequest>;
}

/**
 * fastifyIdempotency makes `idempotent({ scope }, handler)`, which is a route's
 * options: `app.post("/orders", idempotent({ scope: "orders" }, async (request, reply, tx) => …))`.
 * The reply is held back until the work and the reply are committed together.
 */
export function fastifyIdempotency<Tx>(kit: Kit<Tx>, options: FastifyOptions) {
  const bodies = new WeakMap<FastifyRequest, Uint8Array>();
  // Payloads are compared by their bytes, before the parser sees them.
  const preParsing: preParsingAsyncHookHandler = async (request, reply, payload) => {
    if (isSafe(request.method)) {
      return payload;
    }
    const limit = kit.http.options.maxRequestBody;
    // Hooks before this one may have put a stream of their own around the request.
    const read = payload === request.raw ? bodyOf(request.raw, limit) : readAll(payload, limit);
    const body = await read.catch(asKitError);
    if (body instanceof KitError) {
      sendReply(reply, { kit: kit.http.refuse(body) });
      return payload;
    }
    bodies.set(request, body);
    const { receivedEncodedLength = body.length } = payload as { receivedEncodedLength?: number };
    return Object.assign(Readable.from([body], { objectMode: false }), { receivedEncodedLength });
  };
  const see = (request: FastifyRequest): Exchange => ({
    method: request.method,
    host: hostOf(request.raw),
    target: request.raw.url ?? "",
    header: headerOf(request.raw),
    principal: principalOf(options.principal, request),
    body: async (limit) => {
      if ((request as { isMultipart?: () => boolean }).isMultipart?.()) {
        throw new KitError(
          "request_body_consumed",
          "@fastify/multipart reads the request itself, which the kit has read: register the route where the plugin is not, with addContentTypeParser('multipart/form-data', { parseAs: 'buffer' }, …), and read the form with new Response(request.body, { headers: { 'Content-Type': type } }).formData()",
        );
      }
      const raw = bodies.get(request) ?? Buffer.alloc(0);
      if (raw.length > limit) {
        throw tooLarge(limit);
      }
      return raw;
    },
  });
  const wrap = (
    route: Route,
    handler: (request: FastifyRequest, reply: FastifyReply, tx: Tx) => unknown,
  ): RouteShorthandOptionsWithHandler => ({
    preParsing,
    async handler(request, reply) {
      if (isSafe(request.method)) {
        const refusal = await kit.http.refusal(see(request));
        if (refusal !== undefined) {
          return sendReply(reply, { kit: refusal });
        }
        return handler.call(this, request, reply, noTransaction<Tx>(request.method));
      }
      const restore = snapshotOf(reply);
      const run = async (tx: Tx, _body: Uint8Array, response: ServerResponse) => {
        const { own, called } = ownReply(reply, response);
        const returned = handler.call(this, request, own, tx);
        const result = await returned;
        // A handler that is no promise may send later.
        if (!called() && (result !== undefined || returned instanceof Promise)) {
          own.send(result);
        }
      };
      try {
        const answer = await runBuffered(kit.http, route, see(request), [request.raw, reply.raw], run);
        if ("kit" in answer) {
          restore();
        }
        sendReply(reply, answer);
      } catch (error) {
        restore();
        throw error;
      }
    },
  });
  /** accept is for long work: 202 at once, and fn afterwards. It is a route's options. */
  const accept = (route: LongRoute, fn: (work: Work<Tx>) => unknown): RouteShorthandOptionsWithHandler => ({
    preParsing,
    handler: async (request, reply) => {
      sendReply(reply, { kit: await kit.http.accept(see(request), route, fn) });
    },
  });
  return Object.assign(wrap, { accept });
}

/** The headers and trailers that a reply has of its own, under these symbols in Fastify 4 and 5. */
const OWN = /^fastify\.reply\.(headers|trailers)$/;

/**
 * ownReply is a reply for the handler alone: what it sets is not on the one that
 * answers if the work is rolled back, and what it sends goes to the given response.
 */
function ownReply(reply: FastifyReply, raw: ServerResponse): { own: FastifyReply; called: () => boolean } {
  const own = Object.assign(Object.create(Object.getPrototypeOf(reply) as object) as FastifyReply, reply, { raw });
  const parts = own as unknown as Record<symbol, object | null>;
  for (const key of Object.getOwnPropertySymbols(own).filter((s) => OWN.test(s.description ?? ""))) {
    parts[key] &&= { ...parts[key] };
  }
  let called = false;
  own.send = (payload) => {
    called = true;
    return (Object.getPrototypeOf(own) as FastifyReply).send.call(own, payload);
  };
  return { own, called: () => called || own.sent };
}

/** sendReply answers past Fastify, whose hooks have seen what the handler sent. */
function sendReply(reply: FastifyReply, answer: BufferedAnswer): void {
  if ("kit" in answer) {
    for (const [name, value] of Object.entries(reply.getHeaders())) {
      reply.raw.setHeader(name, value!);
    }
  }
  send(reply.raw, answer);
}
