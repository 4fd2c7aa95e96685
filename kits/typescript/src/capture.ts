// Holds the response of a request of node:http back until its work is committed.
//
// The handler gets a ServerResponse of its own, whose connection is in memory: it
// behaves as any other, and nothing that is written to it can reach the client. Until
// the work is over, the client's response stands for it, so that middleware outside
// cannot answer before the commit either.

import { ServerResponse, type IncomingMessage, type OutgoingHttpHeader, type OutgoingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import { Writable } from "node:stream";
import { KitError, replyTooLarge, responseBypassed } from "./errors.js";
import type { Answer, Exchange, HttpHandlers, Ready, Route } from "./http.js";
import { withoutOwn, type HttpReply } from "./reply.js";

/** What the client's response hands on to the handler's, until the work is over. */
const METHODS = [
  "addTrailers",
  "appendHeader",
  "cork",
  "end",
  "flushHeaders",
  "getHeader",
  "getHeaderNames",
  "getHeaders",
  "hasHeader",
  "removeHeader",
  "setHeader",
  "setHeaders",
  "uncork",
  "write",
  "writeContinue",
  "writeEarlyHints",
  "writeHead",
  "writeProcessing",
] as const;
const STATE = [
  "finished",
  "headersSent",
  "statusCode",
  "statusMessage",
  "writableEnded",
  "writableFinished",
] as const satisfies (keyof ServerResponse)[];

type Properties = Record<PropertyKey, unknown>;

/** Capture is the response of one request's handler. */
export class Capture {
  /** The handler's response. */
  readonly response: ServerResponse;
  readonly #head: Buffer[] = []; // of the response, as it was written
  readonly #body: Buffer[] = [];
  readonly #restore: (() => void)[] = [];
  readonly #ended: Promise<void>;
  readonly #givenUp: Promise<void>; // middleware outside has answered that the request failed
  #size = 0;
  #over = false;
  #failure: { error: unknown } | undefined;
  #fail!: (error: unknown) => void;
  #giveUp!: () => void;

  constructor(
    request: IncomingMessage,
    readonly client: ServerResponse,
    readonly limit: number,
  ) {
    if (client.headersSent) {
      throw new KitError("idempotency_handler_misplaced", "middleware around the route has sent the headers already");
    }
    this.#givenUp = new Promise((resolve) => (this.#giveUp = resolve));
    this.response = new ServerResponse(request);
    this.#ended = new Promise((resolve, reject) => {
      this.#fail = (error) => {
        this.#failure ??= { error };
        reject(error);
      };
      this.response.once("finish", () => {
        resolve();
        process.nextTick(() => this.response.destroy()); // as the server closes a response that it has sent
      });
    });
    this.#ended.catch(() => {}); // run hears of it, if it is waiting yet
    this.response.on("error", this.#fail);
    this.response.once("close", () => {
      if (!this.response.writableFinished) {
        this.#fail(new Error("the response was destroyed before it was complete"));
      }
    });
    const socket = this.#connect(request.socket);
    this.#prepare();
    this.#standIn();
    this.#replace(request, "socket", { value: socket });
    this.#replace(request, "client", { value: socket });
    const { "accept-encoding": accepted, ...headers } = request.headers;
    if (accepted !== undefined) {
      // What the handler compresses, no later caller could read that accepts another encoding.
      this.#replace(request, "headers", { value: headers });
    }
  }

  /** run waits until the handler has returned and has ended its response. */
  async run(handler: () => unknown): Promise<HttpReply> {
    const done = Promise.all([(async () => handler())(), this.#ended]);
    await Promise.race([done, this.#givenUp]);
    if (this.#failure !== undefined) {
      throw this.#failure.error; // after the end, such as a second answer
    }
    const { response } = this;
    const body = Buffer.concat(this.#body);
    const headers = Object.entries(response.getHeaders()).flatMap(([name, value]) =>
      [value ?? []].flat().map((v): [string, string] => [name, String(v)]),
    );
    const announced = response.getHeader("content-length");
    if (announced !== undefined && !isBodiless(response.statusCode) && Number(announced) !== body.length) {
      throw new Error(`the response has ${body.length} bytes, and its Content-Length says ${String(announced)}`);
    }
    return { status: response.statusCode, headers: headers.filter(([name]) => name !== "content-length"), body };
  }

  /** touched reports whether something was written, on the response or past it. */
  get touched(): boolean {
    return this.response.headersSent || this.#failure !== undefined;
  }

  /** release gives the client's response back. What the handler still writes goes nowhere. */
  release(): void {
    this.#over = true;
    for (const restore of this.#restore.reverse()) {
      restore();
    }
    this.response.destroy();
  }

  /** #connect gives the response a connection in memory. Of the client's it has what only tells or sets something. */
  #connect(real: Socket): Socket {
    const sink = new Writable({
      highWaterMark: 2 ** 30, // nothing waits for a slow client: `limit` bounds it
      write: (chunk: Buffer, _encoding, done) => {
        this.#take(chunk);
        done();
      },
      final: (done) => {
        this.#fail(responseBypassed()); // a response leaves its connection open
        done();
      },
    });
    sink.on("error", this.#fail);
    const socket = new Proxy(sink as unknown as Socket, {
      get: (target, name) => {
        if (name in target || typeof name === "symbol" || name.startsWith("_")) {
          return Reflect.get(target, name) as unknown;
        }
        const value = Reflect.get(real, name) as unknown;
        return typeof value === "function" ? (value.bind(real) as unknown) : value;
      },
    });
    this.response.assignSocket(socket);
    return socket;
  }

  /** #take keeps a part of the response: its head, an empty line, its body. */
  #take(chunk: Buffer): void {
    if (!this.response.headersSent) {
      this.#fail(responseBypassed()); // not written by the response
    } else if (this.#body.length > 0) {
      this.#keep(chunk);
    } else {
      this.#head.push(chunk);
      const head = Buffer.concat(this.#head);
      const end = head.indexOf("\r\n\r\n");
      if (end >= 0) {
        this.#keep(head.subarray(end + 4));
      }
    }
  }

  #keep(chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size > this.limit) {
      this.#fail(replyTooLarge(`the reply is larger than maxReplyBody (${this.limit})`));
    } else {
      this.#body.push(chunk);
    }
  }

  /** #prepare lets the response begin as the client's is, and keeps from it what is between two servers. */
  #prepare(): void {
    const { client, response } = this;
    for (const [name, value] of Object.entries(client.getHeaders())) {
      response.setHeader(name, value!);
    }
    for (const name of ["connection", "transfer-encoding", "date"].filter((n) => !response.hasHeader(n))) {
      response.removeHeader(name); // so that none is added
    }
    response.statusCode = client.statusCode;
    Object.assign(response, {
      writeHead: (status: number, ...rest: unknown[]) => this.#writeHead(status, rest),
      // They would tell of work that is not committed.
      writeContinue: (done?: () => void) => done?.(),
      writeProcessing: () => {},
      writeEarlyHints: (_hints: unknown, done?: () => void) => done?.(),
      setTimeout: (ms: number, then?: () => void) => {
        client.setTimeout(ms, then);
        return response;
      },
    });
    const prototype = Object.getPrototypeOf(client) as ServerResponse;
    for (const key of Reflect.ownKeys(client).filter((k) => !(k in response))) {
      const value = Reflect.get(client, key) as unknown;
      const replaces = typeof value === "function" && key in prototype;
      Reflect.set(response, key, replaces ? this.#whileHeld(value as (...args: unknown[]) => unknown) : value);
    }
    // Those of other kinds of servers cannot do without a constructor of their own.
    if (prototype.write === ServerResponse.prototype.write && prototype.end === ServerResponse.prototype.end) {
      Object.setPrototypeOf(response, prototype);
    }
  }

  /** #whileHeld is a method that middleware outside has put on the client's response, which it may write to. */
  #whileHeld(method: (...args: unknown[]) => unknown) {
    return (...args: unknown[]) => (this.#over ? this.response : method.apply(this.response, args));
  }

  #writeHead(status: number, rest: unknown[]): ServerResponse {
    const { response } = this;
    if (status >= 100 && status < 200) {
      const error = responseBypassed();
      this.#fail(error);
      throw error;
    }
    setAll(response, rest.find((arg) => typeof arg === "object" && arg !== null) as Headers | undefined);
    if (!response.headersSent) {
      // The whole answer has a length, and no trailers.
      response.removeHeader("transfer-encoding");
      response.removeHeader("trailer");
    }
    return ServerResponse.prototype.writeHead.call(response, status);
  }

  /** #standIn lets the client's response stand for the handler's. */
  #standIn(): void {
    const { client, response } = this;
    for (const name of METHODS.filter((n) => typeof response[n] === "function")) {
      const value = (...args: unknown[]) => {
        const result = (response[name] as (...args: unknown[]) => unknown)(...args);
        if (name === "end" && response.statusCode >= 500) {
          this.#ended.then(this.#giveUp, () => {});
        }
        return result === response ? client : result;
      };
      this.#replace(client, name, { value });
    }
    for (const name of STATE) {
      this.#replace(client, name, {
        get: () => response[name],
        set: (value: unknown) => Reflect.set(response, name, value),
      });
    }
  }

  #replace(object: object, key: PropertyKey, by: { value?: unknown; get?: () => unknown; set?: (v: unknown) => void }) {
    const former = Object.getOwnPropertyDescriptor(object, key);
    Object.defineProperty(object, key, { configurable: true, ...("value" in by && { writable: true }), ...by });
    this.#restore.push(() => {
      if (former === undefined) {
        delete (object as Properties)[key];
      } else {
        Object.defineProperty(object, key, former);
      }
    });
  }
}

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];

/** setAll sets the headers of a writeHead: an object, or names and values in turn, in which a name can be repeated. */
function setAll(response: ServerResponse, headers: Headers | undefined): void {
  if (!Array.isArray(headers)) {
    for (const [name, value] of Object.entries(headers ?? {})) {
      if (value !== undefined) {
        response.setHeader(name, value);
      }
    }
    return;
  }
  const flat = headers.flat();
  const pairs = flat.flatMap((name, i) => (i % 2 === 0 ? [[String(name), String(flat[i + 1])] as const] : []));
  for (const [name] of pairs) {
    response.removeHeader(name);
  }
  for (const [name, value] of pairs) {
    response.appendHeader(name, value);
  }
}

const routed = new WeakSet<IncomingMessage>();

/** Held is what a request is answered: the handler's own answer in full, or an answer of the kit. */
export type Held = { readonly own: HttpReply } | { readonly kit: Ready };

/**
 * hold runs a handler once for its key and returns the answer, which nothing has
 * been sent of. Errors of the handler are thrown on, after the rollback; the response
 * is then as it was before the handler ran.
 */
export async function hold<Tx>(
  kit: HttpHandlers<Tx>,
  route: Route,
  exchange: Exchange,
  [request, client]: readonly [IncomingMessage, ServerResponse],
  handler: (tx: Tx, body: Uint8Array, response: ServerResponse) => unknown,
): Promise<Held> {
  if (routed.has(request)) {
    return { kit: kit.refuse(new KitError("idempotency_handler_misplaced", "the route is wrapped twice")) };
  }
  routed.add(request);
  let capture: Capture | undefined;
  let full: HttpReply;
  let answer: Answer;
  try {
    answer = await kit.handle(exchange, route, async (tx, body) => {
      const held = new Capture(request, client, kit.options.maxReplyBody);
      capture = held;
      full = await held.run(() => handler(tx, body, held.response));
      return full;
    });
  } finally {
    capture?.release();
  }
  if (answer.kind === "ready") {
    return { kit: answer };
  }
  const own = withoutOwn(full!.headers);
  return { own: { ...full!, headers: [...own, ...answer.headers] } };
}

/** send answers the client. Of the headers that middleware outside has set, an answer of the kit replaces only its own. */
export function send(client: ServerResponse, answer: Held): void {
  const { status, headers, body } = "own" in answer ? answer.own : answer.kit;
  const values = new Map<string, string[]>();
  for (const [name, value] of headers) {
    values.set(name.toLowerCase(), [...(values.get(name.toLowerCase()) ?? []), value]);
  }
  if ("own" in answer) {
    for (const name of client.getHeaderNames().filter((n) => !values.has(n))) {
      client.removeHeader(name);
    }
  } else {
    for (const name of ["vary", "link"].filter((n) => values.has(n))) {
      const outside = [client.getHeader(name) ?? []].flat().map(String);
      values.set(name, [...new Set([...outside, ...values.get(name)!])]);
    }
  }
  for (const [name, all] of values) {
    client.setHeader(name, all.length === 1 ? all[0]! : all);
  }
  client.statusCode = status;
  client.end(isBodiless(status) ? undefined : Buffer.from(body));
}

const isBodiless = (status: number) => status === 204 || status === 304;
