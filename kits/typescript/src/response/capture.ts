// Holds the response of a request of node:http back until its work is committed.
//
// The handler gets a ServerResponse of its own, whose connection is in memory: it
// behaves as any other, and nothing that is written to it can reach the client. Until
// the work is over, the client's response stands for it, so that middleware outside
// cannot answer before the commit either, and the client's connection is closed to
// whatever is written past both.

import { ServerResponse, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { KitError, replyTooLarge, responseBypassed } from "../errors.js";
import { copied, MiddlewareHeaders, setAll, type GivenHeaders } from "./headers.js";
import { ClientGuard } from "./clientguard.js";
import { checkLength, type HttpReply } from "../reply.js";
import { socketInMemory } from "./socket.js";
import { Replacements, delegate } from "./delegate.js";

/** MiddlewareAnswer is the answer of middleware around the route while the work runs. */
export class MiddlewareAnswer extends Error {
  constructor(readonly reply: HttpReply) {
    super("middleware outside has answered");
  }
}

/** Capture is the response of one request's handler. */
export class Capture {
  /** The handler's response. */
  readonly response: ServerResponse;
  readonly #head: Buffer[] = []; // of the response, as it was written
  readonly #body: Buffer[] = [];
  readonly #replaced = new Replacements();
  readonly #ended: Promise<void>;
  readonly #outer: Promise<void>; // the client's response has been ended
  readonly #guard: ClientGuard | undefined;
  readonly #middlewareHeaders: MiddlewareHeaders;
  #size = 0;
  #over = false;
  #isWritten = false; // the client's response
  #failure: { error: unknown } | undefined;
  #fail!: (error: unknown) => void;
  #endOuter!: () => void;
  #isAnswered = false;

  constructor(
    request: IncomingMessage,
    readonly client: ServerResponse,
    readonly limit: number,
  ) {
    if (client.headersSent) {
      throw new KitError("idempotency_handler_misplaced", "middleware around the route has sent the headers already");
    }
    this.#middlewareHeaders = new MiddlewareHeaders(client);
    this.#guard = ClientGuard.of(client);
    this.#outer = new Promise((resolve) => (this.#endOuter = resolve));
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
    this.#guard?.close(() => this.#fail(responseBypassed()));
    const socket = this.#connect(request.socket);
    this.#prepare();
    delegate(client, this.response, this.#replaced, {
      onAnswer: () => (this.#isAnswered = true),
      onEnd: () => this.#ended.then(this.#endOuter, () => {}),
      onBypass: () => this.#fail(responseBypassed()),
      onWrite: () => (this.#isWritten = true),
    });
    this.#replaced.replace(request, "socket", { value: socket });
    this.#replaced.replace(request, "client", { value: socket });
    const { "accept-encoding": accepted, ...headers } = request.headers;
    if (accepted !== undefined) {
      // What the handler compresses, no later caller could read that accepts another encoding.
      this.#replaced.replace(request, "headers", { value: headers });
    }
  }

  /**
   * run waits until the handler has returned and has ended its response. If middleware
   * outside has answered that the request failed, it does not wait for the handler.
   */
  async run(handler: () => unknown): Promise<HttpReply> {
    const done = Promise.all([(async () => handler())(), this.#ended]);
    await Promise.race([done, this.#outer.then(() => (this.response.statusCode >= 400 ? undefined : done))]);
    this.check();
    return this.#reply();
  }

  /**
   * unlessAnswered waits for work that answers without a response of node:http. It
   * throws a {@link MiddlewareAnswer} when middleware outside answers first.
   */
  async unlessAnswered<T>(work: Promise<T>): Promise<T> {
    const outer = this.#outer.then(() => {
      this.check();
      throw new MiddlewareAnswer(this.#reply());
    });
    outer.catch(() => {});
    let result: T;
    try {
      result = await Promise.race([work, outer]);
    } finally {
      await (this.#isAnswered && outer);
    }
    this.check();
    if (this.response.headersSent) {
      throw responseBypassed();
    }
    return result;
  }

  /** isAnswered reports whether middleware outside has begun to answer. */
  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  #reply(): HttpReply {
    const { response } = this;
    const body = Buffer.concat(this.#body);
    const headers = Object.entries(response.getHeaders()).flatMap(([name, value]) =>
      [value ?? []].flat().map((v): [string, string] => [name, String(v)]),
    );
    checkLength(response.statusCode, response.getHeader("content-length"), body);
    return { status: response.statusCode, headers, body };
  }

  /** check throws what cannot be committed: an error of the response, or a write past it. */
  check(): void {
    if (this.#failure !== undefined) {
      throw this.#failure.error; // also after the end, such as a second answer
    }
    if (this.#isBypassed()) {
      throw responseBypassed();
    }
  }

  /**
   * release gives the client's response back as it was. What the handler still writes
   * goes nowhere. A connection on which something else was written is not used again.
   */
  release(): void {
    this.#over = true;
    const isBypassed = this.#isBypassed();
    this.#replaced.restore();
    this.response.destroy();
    if (isBypassed) {
      this.#guard!.transport.destroy();
    } else if (this.#guard !== undefined) {
      this.#middlewareHeaders.restore();
    }
    this.#guard?.open();
  }

  /** #isBypassed reports whether the client's own response was used, past what stands for the handler's. */
  #isBypassed(): boolean {
    const { client } = this;
    const guard = this.#guard;
    if (guard === undefined || guard.transport.destroyed) {
      return false;
    }
    const own = (name: string) => Reflect.get(Object.getPrototypeOf(client) as object, name, client) as boolean;
    const isUsed = this.#isWritten || own("headersSent") || (guard.isStream && own("writableEnded"));
    return isUsed || guard.leaked || ClientGuard.of(client) !== guard;
  }

  /** #connect gives the response a connection in memory. */
  #connect(real: Socket): Socket {
    const bypassed = () => this.#fail(responseBypassed()); // a response leaves its connection open
    const socket = socketInMemory(real, (chunk) => this.#take(chunk), bypassed, this.#fail);
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
    for (const [name, value] of Object.entries(copied(client.getHeaders()))) {
      response.setHeader(name, value!);
    }
    for (const name of ["connection", "transfer-encoding", "date"].filter((n) => !response.hasHeader(n))) {
      response.removeHeader(name); // so that none is added
    }
    response.statusCode = client.statusCode;
    // The body is what is written, without the frames of chunks.
    Object.defineProperty(response, "chunkedEncoding", { get: () => false, set: () => {} });
    Object.assign(response, {
      writeHead: (status: number, ...rest: unknown[]) => this.#writeHead(status, rest),
      // They would tell of work that is not committed.
      writeContinue: (done?: () => void) => done?.(),
      writeProcessing: () => {},
      writeEarlyHints: (_hints: unknown, done?: () => void) => done?.(),
      writeInformation: (...args: unknown[]) => {
        const done = args.at(-1);
        if (typeof done === "function") {
          process.nextTick(done as () => void);
        }
      },
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
    setAll(response, rest.find((arg) => typeof arg === "object" && arg !== null) as GivenHeaders | undefined);
    if (!response.headersSent) {
      // The whole answer has a length, and no trailers.
      response.removeHeader("transfer-encoding");
      response.removeHeader("trailer");
    }
    return ServerResponse.prototype.writeHead.call(response, status);
  }
}
