// The adapter for Express 5.

import type { OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Request, RequestHandler, Response } from "express";
import { KitError, replyTooLarge } from "./errors.js";
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
import type { HttpReply } from "./reply.js";

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
const RUNNING = Symbol("idempotent");

/**
 * keepRawBody is for a body parser that runs before the route, which would leave
 * nothing to compare payloads by: `express.json({ verify: keepRawBody })`.
 */
export function keepRawBody(request: object, _response: unknown, body: Buffer): void {
  (request as Record<symbol, unknown>)[RAW] = body;
}

/**
 * expressIdempotency makes the wrapper `idempotent({ scope }, handler)` for routes.
 * The handler gets the transaction as its third argument. What it writes to the
 * response is held back until the work and the response are committed together.
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
    return async (request, response) => {
      if (isSafe(request.method)) {
        await handler(request, response, noTransaction<Tx>(request.method));
        return;
      }
      const marks = request as unknown as Record<symbol, unknown>;
      const captured = new Capture(response);
      if (marks[RUNNING] === true) {
        const answer = kit.http.refuse(new KitError("idempotency_handler_misplaced", "the route is wrapped twice"));
        captured.send(answer, []);
        return;
      }
      marks[RUNNING] = true;
      let full: HttpReply | undefined;
      const answer = await kit.http.handle(see(request), route, async (tx, bytes) => {
        if (marks[RAW] === undefined) {
          request.body = parsed(request, bytes);
        }
        full = await captured.run(kit.http.options.maxReplyBody, () => handler(request, response, tx));
        return full;
      });
      if (answer.kind === "ready") {
        captured.send(answer, answer.headers);
      } else {
        captured.send(full!, answer.headers);
      }
    };
  };
  /** accept is for long work: 202 at once, and fn afterwards. */
  const accept =
    (route: LongRoute, fn: (work: Work<Tx>) => unknown): RequestHandler =>
    async (request, response) => {
      const answer = await kit.http.accept(see(request), route, fn);
      new Capture(response).send(answer, answer.headers);
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
      "a body parser ran before the route: give it the option { verify: keepRawBody }",
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

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];

/** Capture holds a response back, however its handler writes it. */
class Capture {
  readonly #original: Pick<ServerResponse, "write" | "end" | "writeHead" | "flushHeaders">;

  constructor(readonly response: Response) {
    const { write, end, writeHead, flushHeaders } = response;
    this.#original = { write, end, writeHead, flushHeaders };
  }

  /** run waits until the handler has returned and ended its response. */
  async run(limit: number, handler: () => unknown): Promise<HttpReply> {
    const { response } = this;
    const chunks: Buffer[] = [];
    let size = 0;
    let ended!: () => void;
    let failed!: (error: Error) => void;
    const end = new Promise<void>((resolve, reject) => ([ended, failed] = [resolve, reject]));
    end.catch(() => {}); // a handler that throws is heard first
    const before = new Set(response.getHeaderNames());
    const take = (chunk: unknown, encoding: unknown) => {
      if (typeof chunk !== "string" && !(chunk instanceof Uint8Array)) {
        return;
      }
      const bytes =
        typeof chunk === "string"
          ? Buffer.from(chunk, typeof encoding === "string" ? (encoding as BufferEncoding) : "utf8")
          : Buffer.from(chunk);
      size += bytes.length;
      if (size > limit) {
        failed(replyTooLarge(`the reply is larger than maxReplyBody (${limit})`));
      } else {
        chunks.push(bytes);
      }
    };
    const held = {
      write: (...args: unknown[]) => {
        take(args[0], args[1]);
        (args.find((arg) => typeof arg === "function") as (() => void) | undefined)?.();
        return true;
      },
      end: (...args: unknown[]) => {
        take(args[0], args[1]);
        ended();
        return response;
      },
      writeHead: (status: number, ...rest: unknown[]) => {
        response.statusCode = status;
        setAll(response, rest.find((arg) => typeof arg === "object") as Headers | undefined);
        return response;
      },
      flushHeaders: () => {},
    };
    Object.assign(response, held);
    try {
      await handler();
      await end;
      const headers = response.getHeaderNames().flatMap((name) => {
        const value = response.getHeader(name) ?? [];
        return (Array.isArray(value) ? value : [value]).map((v): [string, string] => [name, String(v)]);
      });
      return { status: response.statusCode, headers, body: Buffer.concat(chunks) };
    } catch (error) {
      for (const name of response.getHeaderNames().filter((n) => !before.has(n))) {
        response.removeHeader(name); // the error's answer has its own
      }
      response.statusCode = 200;
      throw error;
    } finally {
      Object.assign(response, this.#original);
    }
  }

  /** send sends an answer. Headers that middleware outside has set stay. */
  send(answer: HttpReply, more: HttpReply["headers"]): void {
    const { response } = this;
    response.statusCode = answer.status;
    const own = new Set<string>();
    for (const [given, value] of [...(more === answer.headers ? [] : answer.headers), ...more]) {
      const name = given.toLowerCase();
      if (own.has(name) || name === "vary" || name === "link") {
        append(response, name, value);
      } else {
        response.setHeader(name, value);
      }
      own.add(name);
    }
    response.end(answer.status === 204 || answer.status === 304 ? undefined : Buffer.from(answer.body));
  }
}

function append(response: Response, name: string, value: string): void {
  const there = [response.getHeader(name) ?? []].flat().map(String);
  response.setHeader(name, there.includes(value) ? there : [...there, value]);
}

function setAll(response: Response, headers: Headers | undefined): void {
  const pairs = Array.isArray(headers)
    ? headers.flatMap((name, i) => (i % 2 === 0 ? [[String(name), headers[i + 1]] as const] : []))
    : Object.entries(headers ?? {});
  for (const [name, value] of pairs) {
    if (value !== undefined) {
      response.setHeader(name, value as string);
    }
  }
}
