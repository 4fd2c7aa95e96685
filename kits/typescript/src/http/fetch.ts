// Runs a handler of the Fetch API once for its key: a Request in, a Response out.

import {
  asKitError,
  isSafe,
  noTransaction,
  principalOf,
  tooLarge,
  type Exchange,
  type LongRoute,
  type PrincipalOption,
  type Ready,
  type Route,
} from "./exchange.js";
import { KitError } from "../errors.js";
import type { Kit } from "../kit.js";
import type { Work } from "../once/work.js";
import { checkLength, ofHandler, type HttpReply } from "../reply.js";

/** FetchOptions configure fetchIdempotency and nextIdempotency. */
export interface FetchOptions {
  /**
   * Says who makes a request: an account or client ID that the request's
   * authentication has proved, never a token, which changes. undefined or "" is
   * answered 401. {@link singlePrincipal} is the explicit way to do without.
   */
  readonly principal: PrincipalOption<Request>;
}

/** FrameworkHooks are what a framework adds to a handler of the Fetch API. */
export interface FrameworkHooks {
  /** answer runs a handler. What it throws may be its answer. */
  answer(run: () => Response | Promise<Response>): Promise<Response>;
  /** begin is called before the handler. What it returns takes back what the handler has set beside its response. */
  begin?(): Promise<() => void>;
  /** renew makes the request that the handler gets, whose body was not read. */
  renew?(request: Request, init: RequestInit): Request;
}

/** fetchWrapper is fetchIdempotency in a framework. */
export function fetchWrapper<Tx>(kit: Kit<Tx>, options: FetchOptions, { answer, begin, renew }: FrameworkHooks) {
  const see = (request: Request) => {
    const url = new URL(request.url);
    return exchangeOf(request, {
      host: request.headers.get("host") ?? url.host,
      target: url.pathname + url.search,
      principal: principalOf(options.principal, request),
      body: (limit: number) => readBody(request, limit),
    });
  };
  const wrap = <Rest extends unknown[]>(
    route: Route,
    handler: (request: Request, tx: Tx, ...rest: Rest) => Response | Promise<Response>,
  ): ((request: Request, ...rest: Rest) => Promise<Response>) => {
    return async (request, ...rest) => {
      if (isSafe(request.method)) {
        const refusal = await kit.http.refusal(see(request));
        if (refusal !== undefined) {
          return toResponse(refusal);
        }
        return handler(request, noTransaction<Tx>(request.method), ...rest);
      }
      const restore = await begin?.();
      const work = async (tx: Tx, body: Uint8Array<ArrayBuffer>) => {
        const init: RequestInit = { method: request.method, headers: request.headers, body, signal: null };
        const renewed = renew?.(request, init) ?? new Request(request.url, init);
        const response = await answer(() => handler(renewed, tx, ...rest));
        return replyOf(response, kit.http.options.maxReplyBody);
      };
      const refused = (ready: Ready) => {
        restore?.();
        return toResponse(ready);
      };
      try {
        return await runFetch(kit, route, see(request), work, refused);
      } catch (error) {
        restore?.();
        throw error;
      }
    };
  };
  /** accept is for long work: 202 at once, and fn afterwards. */
  const accept =
    (route: LongRoute, fn: (work: Work<Tx>) => unknown) =>
    async (request: Request): Promise<Response> =>
      toResponse(await kit.http.accept(see(request), route, fn));
  return Object.assign(wrap, { accept });
}

/** exchangeOf is a Request as the kit sees it. */
export function exchangeOf(request: Request, seen: Pick<Exchange, "host" | "target" | "principal" | "body">): Exchange {
  return {
    method: request.method,
    header: (name) => {
      const value = request.headers.get(name);
      return value === null ? [] : splitRepeated(name, value);
    },
    ...seen,
  };
}

/** runFetch runs a handler and makes the Response of its answer; render makes that of an answer of the kit. */
export async function runFetch<Tx>(
  kit: Kit<Tx>,
  route: Route,
  exchange: Exchange,
  handler: (tx: Tx, body: Uint8Array<ArrayBuffer>) => Promise<HttpReply>,
  render: (answer: Ready) => Response,
): Promise<Response> {
  let full: HttpReply | undefined;
  const answer = await kit.http.handle(exchange, route, async (tx, body) => {
    full = await handler(tx, body as Uint8Array<ArrayBuffer>);
    return full;
  });
  if (answer.kind === "ready") {
    return render(answer);
  }
  return toResponse({ ...full!, kind: "ready", headers: [...ofHandler(full!.headers), ...answer.headers] });
}

/** The Fetch API joins repeated headers by a comma. No key and no time that a client means has one outside of quotes. */
function splitRepeated(name: string, value: string): string[] {
  if (name === "cronce-send-before") {
    return value.split(", ");
  }
  if (name === "idempotency-key" && /^[^"]*, /.test(value)) {
    return value.split(", ");
  }
  return name === "idempotency-key" ? (value.match(/^"(?:[^"\\]|\\.)*"(?=, )|.+/gs) ?? [value]) : [value];
}

/** readBody reads a body up to a limit. */
export async function readBody(request: Request, limit: number): Promise<Uint8Array> {
  if (request.bodyUsed) {
    throw new KitError("request_body_consumed", "the body was read before");
  }
  if (Number(request.headers.get("content-length") ?? 0) > limit) {
    throw tooLarge(limit);
  }
  try {
    return await readStream(request.body, limit, () => tooLarge(limit));
  } catch (error) {
    throw asKitError(error);
  }
}

async function readStream(
  stream: ReadableStream<Uint8Array> | null,
  limit: number,
  past: () => Error,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  if (stream !== null) {
    for await (const chunk of stream as unknown as AsyncIterable<Uint8Array>) {
      size += chunk.length;
      if (size > limit) {
        throw past();
      }
      chunks.push(chunk);
    }
  }
  return Buffer.concat(chunks);
}

/** isResponse reports whether a value is a Response, of whatever class a server has for it. */
export const isResponse = (value: unknown): value is Response =>
  typeof value === "object" && value !== null && "arrayBuffer" in value && "status" in value && "headers" in value;

/** orThrown runs a handler that may throw its Response. */
export async function orThrown(run: () => Response | Promise<Response>): Promise<Response> {
  try {
    return await run();
  } catch (error) {
    if (!isResponse(error)) {
      throw error;
    }
    return error;
  }
}

/** replyOf reads a Response, which must be an answer that can be sent. */
export async function replyOf(response: Response, limit: number): Promise<HttpReply> {
  if (!isResponse(response)) {
    throw new TypeError("the handler returned no Response");
  }
  const { status, headers } = response;
  if (!(status >= 200 && status <= 599)) {
    throw new RangeError(`the response has the status ${status}; answer with 200 to 599`);
  }
  const past = () => new KitError("reply_too_large", `the reply is larger than maxReplyBody (${limit})`);
  const body = await readStream(response.body, limit, past);
  checkLength(status, headers.get("content-length"), body);
  return { status, headers: [...headers], body };
}

/** toResponse makes the Response of an answer. */
export function toResponse(answer: Ready): Response {
  const headers = new Headers();
  for (const [name, value] of answer.headers) {
    headers.append(name, value);
  }
  return new Response(sentBody(answer), { status: answer.status, headers });
}

/** sentBody is an answer's body as a Response takes it, which has none with some statuses. */
export function sentBody(answer: Ready): Buffer<ArrayBuffer> | null {
  return [204, 205, 304].includes(answer.status) ? null : Buffer.from(answer.body);
}
