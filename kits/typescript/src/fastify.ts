// The adapter for Fastify 5.

import { Readable } from "node:stream";
import type {
  FastifyReply,
  FastifyRequest,
  RouteShorthandOptionsWithHandler,
  preParsingAsyncHookHandler,
} from "fastify";
import { KitError } from "./errors.js";
import { noTransaction } from "./fetch.js";
import {
  asKitError,
  isSafe,
  principalOf,
  tooLarge,
  type Answer,
  type Exchange,
  type LongRoute,
  type PrincipalOption,
  type Route,
} from "./http.js";
import { headerOf, readIncoming } from "./incoming.js";
import type { Kit } from "./kit.js";
import type { Work } from "./work.js";
import type { HttpReply } from "./reply.js";

/** FastifyOptions configure {@link fastifyIdempotency}. */
export interface FastifyOptions {
  /**
   * Says who makes a request: an account or client ID that the request's
   * authentication has proved, never a token, which changes. undefined or "" is
   * answered 401. For signed calls: a verifier.
   */
  readonly principal: PrincipalOption<FastifyRequest>;
}

/** Held is a request whose reply waits for the commit. */
interface Held {
  /** The body as it came. */
  readonly raw: Uint8Array;
  /** reply is called with the reply when the handler has sent it; it waits for the commit. */
  reply?: (full: HttpReply) => Promise<Answer>;
}

/**
 * fastifyIdempotency makes `idempotent({ scope }, handler)`, which is a route's
 * options: `app.post("/orders", idempotent({ scope: "orders" }, async (request, reply, tx) => …))`.
 * The reply is held back until the work and the reply are committed together.
 */
export function fastifyIdempotency<Tx>(kit: Kit<Tx>, options: FastifyOptions) {
  const requests = new WeakMap<FastifyRequest, Held>();
  // Payloads are compared by their bytes, before the parser sees them.
  const preParsing: preParsingAsyncHookHandler = async (request, reply, payload) => {
    if (isSafe(request.method)) {
      return payload;
    }
    const raw = await readIncoming(request.raw, kit.http.options.maxRequestBody).catch(asKitError);
    if (raw instanceof KitError) {
      return reply.send(replace(reply, kit.http.refuse(raw)));
    }
    requests.set(request, { raw });
    return Object.assign(Readable.from([raw], { objectMode: false }), { receivedEncodedLength: raw.length });
  };
  const see = (request: FastifyRequest): Exchange => ({
    method: request.method,
    host: request.headers.host ?? "",
    target: request.raw.url ?? "",
    header: headerOf(request.raw),
    principal: principalOf(options.principal, request),
    body: async (limit) => {
      const raw = requests.get(request)?.raw ?? Buffer.alloc(0);
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

    onSend: async (request, reply, payload) => {
      const held = requests.get(request);
      if (held?.reply === undefined) {
        return payload;
      }
      const { reply: settle } = held;
      delete held.reply;
      const body = await bytesOf(payload, kit.http.options.maxReplyBody);
      const headers = Object.entries(reply.getHeaders()).flatMap(([name, value]) =>
        [value ?? []].flat().map((v): [string, string] => [name, String(v)]),
      );
      const answer = await settle({ status: reply.statusCode, headers, body });
      return answer.kind === "fresh" ? finish(reply, answer, body) : replace(reply, answer);
    },

    handler: async (request, reply) => {
      const held = requests.get(request);
      if (isSafe(request.method) || held === undefined) {
        return handler(request, reply, noTransaction<Tx>(request.method));
      }
      let settled!: { resolve(answer: Answer): void; reject(error: unknown): void };
      const committed = new Promise<Answer>((resolve, reject) => (settled = { resolve, reject }));
      committed.catch(() => {});
      let sent = false;
      const answer = kit.http.handle(see(request), route, async (tx) => {
        const full = new Promise<HttpReply>((resolve) => {
          held.reply = (reply) => {
            sent = true;
            resolve(reply);
            return committed;
          };
        });
        const result = await handler(request, reply, tx);
        if (!reply.sent && !sent) {
          reply.send(result);
        }
        return full;
      });
      answer.then(settled.resolve, settled.reject);
      const final = await answer.catch((error: unknown) => {
        delete held.reply;
        throw error;
      });
      if (!sent && final.kind === "ready") {
        delete held.reply;
        reply.send(replace(reply, final));
      }
      return reply;
    },
  });
  /** accept is for long work: 202 at once, and fn afterwards. It is a route's options. */
  const accept = (route: LongRoute, fn: (work: Work<Tx>) => unknown): RouteShorthandOptionsWithHandler => ({
    preParsing,
    handler: async (request, reply) => reply.send(replace(reply, await kit.http.accept(see(request), route, fn))),
  });
  return Object.assign(wrap, { accept });
}

function finish(reply: FastifyReply, answer: Answer, body: Buffer): Buffer {
  for (const name of ["idempotent-replayed", "idempotency-key-expires", "idempotency-body"]) {
    reply.removeHeader(name);
  }
  for (const [name, value] of answer.headers) {
    reply.header(name, value);
  }
  return body;
}

/** replace puts a stored reply, or an error of the kit, in the place of what the handler sent. */
function replace(reply: FastifyReply, answer: Extract<Answer, { kind: "ready" }>): Buffer | undefined {
  for (const name of ["content-type", "content-length", "content-encoding"]) {
    reply.removeHeader(name);
  }
  reply.code(answer.status);
  for (const [name, value] of answer.headers) {
    reply.header(name, value);
  }
  return answer.status === 204 || answer.status === 304 ? undefined : Buffer.from(answer.body);
}

async function bytesOf(payload: unknown, limit: number): Promise<Buffer> {
  if (payload === undefined || payload === null) {
    return Buffer.alloc(0);
  }
  if (typeof payload === "string" || payload instanceof Uint8Array) {
    return Buffer.from(payload as string);
  }
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of payload as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size <= limit) {
      chunks.push(Buffer.from(chunk));
    }
  }
  // Past the limit the kit refuses it by its length.
  return size > limit ? Buffer.alloc(limit + 1) : Buffer.concat(chunks);
}
