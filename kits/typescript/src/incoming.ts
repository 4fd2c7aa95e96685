// What the adapters for Node.js's own requests have in common.

import type { IncomingMessage } from "node:http";
import { KitError } from "./errors.js";
import { tooLarge, type Exchange } from "./http.js";

/**
 * headerOf reads a header's values apart, which Node.js joins or drops otherwise. The
 * requests of Fastify's `inject` have only the joined ones.
 */
export function headerOf(request: IncomingMessage): Exchange["header"] {
  const distinct = request.headersDistinct as IncomingMessage["headersDistinct"] | undefined;
  return (name) => (distinct === undefined ? [request.headers[name] ?? []].flat() : (distinct[name] ?? []));
}

/** readIncoming reads a request's body up to a limit. */
export async function readIncoming(request: IncomingMessage, limit: number): Promise<Buffer> {
  if (Number(request.headers["content-length"] ?? 0) > limit) {
    throw tooLarge(limit);
  }
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > limit) {
        throw tooLarge(limit);
      }
      chunks.push(chunk);
    }
  } catch (cause) {
    if (cause instanceof KitError) {
      throw cause;
    }
    throw new KitError("invalid_idempotency_request", "The request body could not be read to its end.", { cause });
  }
  return Buffer.concat(chunks);
}
