// Closes a client's connection to everything but the kit while work is not committed.
//
// The handler has a response of its own, but a framework, a plugin or a reference that
// was kept may still reach the real one. Whatever it calls there has to pass the
// methods below, on the socket of HTTP/1 or on the stream of HTTP/2.

import type { ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import type { Duplex } from "node:stream";
import * as timers from "node:timers/promises";

const WRITES = ["write", "end", "_write", "_writev"];
const WRITES_OF_STREAMS = [
  ...WRITES,
  "_final",
  "additionalHeaders",
  "pushStream",
  "respond",
  "respondWithFD",
  "respondWithFile",
  "sendTrailers",
];
const POLL_MS = 5;

type Method = (...args: unknown[]) => unknown;

/** streamOf is the stream of a response of HTTP/2. */
const streamOf = (client: ServerResponse) => (client as unknown as { stream?: ServerHttp2Stream }).stream;

/** transportOf is what a response is written to; undefined: its turn has not come, or its client is gone. */
const transportOf = (client: ServerResponse): Duplex | undefined => streamOf(client) ?? client.socket ?? undefined;

/** bytesOf counts what has left a socket, even past its methods. */
const bytesOf = (transport: Duplex) => (transport as { _handle?: { bytesWritten?: number } })._handle?.bytesWritten;

/**
 * awaitTurn waits until everything before a pipelined request is answered and sent, so that
 * its connection can be closed. It reports false if that takes longer than `ms`.
 */
export async function awaitTurn(client: ServerResponse, ms: number): Promise<boolean> {
  const isNext = () => {
    const transport = transportOf(client);
    return client.req.socket?.destroyed || client.closed || (transport !== undefined && !transport.writableLength);
  };
  for (const until = performance.now() + ms; !isNext();) {
    if (performance.now() > until) {
      return false;
    }
    await timers.setTimeout(POLL_MS);
  }
  return true;
}

const guards = new WeakMap<Duplex, ClientGuard>();

/** ClientGuard is one connection, open or closed. Its methods are replaced once. */
export class ClientGuard {
  #onWrite: (() => void) | undefined; // closed
  #bytes: number | undefined;
  /** The connection is a stream of HTTP/2. */
  readonly isStream: boolean;

  private constructor(readonly transport: Duplex) {
    const methods = transport as unknown as Record<string, Method>;
    const isStream = "respond" in transport;
    this.isStream = isStream;
    for (const name of isStream ? WRITES_OF_STREAMS : WRITES) {
      const write = methods[name];
      if (typeof write !== "function") {
        continue;
      }
      // Node.js itself ends the socket of a client that has ended it, and a stream that is closed.
      const isOver = () =>
        transport.destroyed || transport.closed || (name === "end" && !isStream && transport.readableEnded);
      const value = (...args: unknown[]) =>
        this.#onWrite === undefined || isOver() ? write.apply(transport, args) : this.#drop(name, args);
      Object.defineProperty(transport, name, { value, configurable: true, writable: true });
    }
  }

  /** of is the guard of a response's connection; undefined: there is none through which its client could be reached. */
  static of(client: ServerResponse): ClientGuard | undefined {
    const transport = transportOf(client);
    if (transport === undefined) {
      return undefined;
    }
    const guard = guards.get(transport) ?? new ClientGuard(transport);
    guards.set(transport, guard);
    return guard;
  }

  /** close drops what is written from now on, and tells onWrite of it. */
  close(onWrite: () => void): void {
    this.#onWrite = onWrite;
    this.#bytes = bytesOf(this.transport);
  }

  open(): void {
    this.#onWrite = undefined;
  }

  /** leaked reports whether bytes have left a closed connection, or will leave it when it is open, or whether its stream was ended. */
  get leaked(): boolean {
    const { transport } = this;
    return (
      transport.writableLength > 0 || bytesOf(transport) !== this.#bytes || (this.isStream && transport.writableEnded)
    );
  }

  #drop(name: string, args: unknown[]): unknown {
    this.#onWrite!();
    const done = args.at(-1);
    if (typeof done === "function" && name !== "pushStream") {
      process.nextTick(done as () => void);
    }
    return name === "end" ? this.transport : true;
  }
}
