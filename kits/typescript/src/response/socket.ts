// The connection of a response that is held back.

import type { Socket } from "node:net";
import { Writable } from "node:stream";

/** socketInMemory is a socket without a network. Of the real one it has what only tells or sets something. */
export function socketInMemory(
  real: Socket,
  take: (chunk: Buffer) => void,
  onEnd: () => void,
  onError: (error: Error) => void,
): Socket {
  const sink = new Writable({
    highWaterMark: 2 ** 30, // nothing waits for a slow client: maxReplyBody bounds it
    write: (chunk: Buffer, _encoding, done) => {
      take(chunk);
      done();
    },
    final: (done) => {
      onEnd();
      done();
    },
  });
  sink.on("error", onError);
  return new Proxy(sink as unknown as Socket, {
    get: (target, name) => {
      if (name in target || typeof name === "symbol" || name.startsWith("_")) {
        return Reflect.get(target, name) as unknown;
      }
      const value = Reflect.get(real, name) as unknown;
      return typeof value === "function" ? (value.bind(real) as unknown) : value;
    },
  });
}
