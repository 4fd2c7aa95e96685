// What the adapters for Node.js's own requests have in common.

import type { IncomingMessage } from "node:http";
import { KitError } from "../errors.js";
import { asKitError, tooLarge, type Exchange } from "./exchange.js";

/**
 * headerOf reads a header's values apart, which Node.js joins or drops otherwise. The
 * requests of Fastify's `inject` have only the joined ones.
 */
export function headerOf(request: IncomingMessage): Exchange["header"] {
  const distinct = request.headersDistinct as IncomingMessage["headersDistinct"] | undefined;
  return (name) => (distinct === undefined ? [request.headers[name] ?? []].flat() : (distinct[name] ?? []));
}

/** hostOf is the host that a client names, in HTTP/2 usually as the authority. */
export const hostOf = (request: IncomingMessage): string =>
  request.headers.host ?? String(request.headers[":authority"] ?? "");

const RAW = Symbol.for("@cronce/idempotency.rawBody");

/**
 * keepRawBody is for a body parser that runs before the route, which would leave
 * nothing to compare payloads by: `express.json({ verify: keepRawBody })`.
 */
export function keepRawBody(request: object, _response: unknown, body: Buffer): void {
  (request as Record<symbol, unknown>)[RAW] = body;
}

/** keptBody is the body that a parser has kept. */
export const keptBody = (request: IncomingMessage): Uint8Array | undefined =>
  (request as unknown as Record<symbol, Uint8Array | undefined>)[RAW];

/** bodyOf is the body of a request, which nothing may have read before, or a parser that has kept it. */
export async function bodyOf(request: IncomingMessage, limit: number): Promise<Uint8Array> {
  const kept = keptBody(request);
  if (kept !== undefined) {
    if (kept.length > limit) {
      throw tooLarge(limit);
    }
    return kept;
  }
  if (isConsumed(request)) {
    throw new KitError(
      "request_body_consumed",
      "a body parser ran before the route: give it the option { verify: keepRawBody }; in place of a parser of uploads (multer), read the form in the handler with new Response(body, { headers: { 'Content-Type': type } }).formData()",
    );
  }
  return readIncoming(request, limit);
}

/** isConsumed reports whether a part of the body is gone. A request that has none can be read twice. */
function isConsumed(request: IncomingMessage): boolean {
  const { "content-length": length = "0", "transfer-encoding": encoding } = request.headers;
  const isEmpty = request.httpVersionMajor === 1 && encoding === undefined && Number(length) === 0;
  return request.readableEncoding != null || ((request.readableDidRead || request.readableEnded) && !isEmpty);
}

async function readIncoming(request: IncomingMessage, limit: number): Promise<Buffer> {
  if (Number(request.headers["content-length"] ?? 0) > limit) {
    throw tooLarge(limit);
  }
  return readAll(request, limit);
}

/** readAll reads a body up to a limit. */
export async function readAll(stream: AsyncIterable<unknown>, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > limit) {
        throw tooLarge(limit);
      }
      chunks.push(chunk);
    }
  } catch (cause) {
    throw asKitError(cause);
  }
  return Buffer.concat(chunks);
}
