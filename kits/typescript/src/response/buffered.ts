// Runs a handler of node:http once for its key, and answers.

import type { IncomingMessage, ServerResponse } from "node:http";
import { Capture } from "./capture.js";
import { KitError, runTooLong, successAfterRollback } from "../errors.js";
import { MiddlewareHeaders } from "./headers.js";
import type { Answer, Exchange, Ready, Route } from "../http/exchange.js";
import type { HttpHandlers } from "../http/handlers.js";
import { awaitTurn } from "./clientguard.js";
import { isBodiless, ofHandler, type HttpReply } from "../reply.js";

const routed = new WeakSet<IncomingMessage>();

/** BufferedAnswer is what a request is answered: the handler's own answer in full, or an answer of the kit. */
export type BufferedAnswer = { readonly own: HttpReply } | { readonly kit: Ready };

/**
 * runBuffered runs a handler once for its key and returns the answer, which nothing has
 * been sent of. Errors of the handler are thrown on, after the rollback; the response
 * is then as it was before the handler ran, and tells only failures.
 */
export async function runBuffered<Tx>(
  kit: HttpHandlers<Tx>,
  route: Route,
  exchange: Exchange,
  [request, client]: readonly [IncomingMessage, ServerResponse],
  handler: (tx: Tx, body: Uint8Array, response: ServerResponse) => unknown,
): Promise<BufferedAnswer> {
  if (routed.has(request)) {
    return { kit: kit.refuse(new KitError("idempotency_handler_misplaced", "the route is wrapped twice")) };
  }
  routed.add(request);
  if (!(await awaitTurn(client, route.maxRunMs ?? kit.options.maxRunMs))) {
    return { kit: kit.refuse(runTooLong()) };
  }
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
  } catch (error) {
    capture?.release();
    onlyFailures(client, () => kit.refuse(successAfterRollback(error)));
    throw error;
  }
  capture?.release();
  if (answer.kind === "ready") {
    return { kit: answer };
  }
  const own = ofHandler(full!.headers);
  return { own: { ...full!, headers: [...own, ...answer.headers] } };
}

/**
 * onlyFailures lets a response tell of work that was rolled back only that it has
 * failed: an answer below 400 becomes another one.
 */
export function onlyFailures(client: ServerResponse, instead: () => Ready): void {
  let refused = false;
  const headers = new MiddlewareHeaders(client);
  const refuses = (status: number) => (refused ||= !client.headersSent && status < 400);
  const { write, writeHead, flushHeaders, end } = client;
  const own = {
    write: (...args: unknown[]) => refuses(client.statusCode) || (write as Method).apply(client, args),
    writeHead: (...args: unknown[]) => (refuses(Number(args[0])) ? client : (writeHead as Method).apply(client, args)),
    flushHeaders: () => refuses(client.statusCode) || flushHeaders.call(client),
    end: (...args: unknown[]) => {
      if (!refuses(client.statusCode)) {
        return (end as Method).apply(client, args);
      }
      Object.assign(client, { write, writeHead, flushHeaders, end });
      headers.restore();
      send(client, { kit: instead() });
      return client;
    },
  };
  Object.assign(client, own);
}

type Method = (...args: unknown[]) => unknown;

/** send answers the client. Of the headers that middleware outside has set, an answer of the kit replaces only its own. */
export function send(client: ServerResponse, answer: BufferedAnswer): void {
  if (client.headersSent || client.destroyed) {
    return; // middleware outside has answered before the work began, or the client is gone
  }
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
  const isHttp2 = client.req.httpVersionMajor === 2;
  if (isHttp2) {
    values.delete("connection");
  }
  for (const [name, all] of values) {
    // On HTTP/2, Node.js throws for two values of a header that is no list.
    client.setHeader(name, all.length === 1 ? all[0]! : isHttp2 && name !== "set-cookie" ? all.join(", ") : all);
  }
  client.statusCode = status;
  client.end(isBodiless(status) ? undefined : Buffer.from(body));
}
