// Makes a client's response delegate to another one, until the work is over.

import type { ServerResponse } from "node:http";

/** What the client's response hands on to the handler's, until the work is over. */
const METHODS = [
  "addTrailers",
  "appendHeader",
  "cork",
  "destroy",
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
  "writeInformation", // from Node.js 24 on
  "writeProcessing",
] as const;
/** What would take the client's response from its connection. */
const ATTACHING = ["assignSocket", "detachSocket"] as const;
/** By these a response of HTTP/1 writes. Called past the methods above, they leave it in no state to be used again. */
const WRITING = ["_implicitHeader", "_send", "_writeRaw"];
const STATE = [
  "finished",
  "headersSent",
  "statusCode",
  "statusMessage",
  "writableEnded",
  "writableFinished",
] as const satisfies (keyof ServerResponse)[];

type Properties = Record<PropertyKey, unknown>;
type Method = (...args: unknown[]) => unknown;
type Replacement = { value: unknown } | { get: () => unknown; set: (value: unknown) => void };

/** Replacements are properties that are put back later. */
export class Replacements {
  readonly #restore: (() => void)[] = [];

  replace(object: object, key: PropertyKey, by: Replacement): void {
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

  restore(): void {
    for (const restore of this.#restore.splice(0).reverse()) {
      restore();
    }
  }
}

/** ResponseListener hears of what is called on a client's response. */
interface ResponseListener {
  /** Headers are given out. */
  onAnswer(): void;
  onEnd(): void;
  /** The response was to be taken from its connection, or is written past its methods. */
  onBypass(): void;
  /** It is written past its methods. */
  onWrite(): void;
}

/** delegate makes a client's response hand its calls on to the handler's. */
export function delegate(
  client: ServerResponse,
  response: ServerResponse,
  replaced: Replacements,
  on: ResponseListener,
): void {
  const methods = response as unknown as Record<string, Method>;
  for (const name of METHODS.filter((n) => n in client && n in response)) {
    const value: Method = (...args) => {
      const result = methods[name]!(...args);
      if (response.headersSent) {
        on.onAnswer();
      }
      if (name === "end") {
        on.onEnd();
      }
      return result === response ? client : result;
    };
    replaced.replace(client, name, { value });
  }
  for (const name of ATTACHING.filter((n) => n in client)) {
    replaced.replace(client, name, { value: () => on.onBypass() });
  }
  for (const name of WRITING.filter((n) => n in client)) {
    const value = () => {
      on.onWrite();
      on.onBypass();
    };
    replaced.replace(client, name, { value });
  }
  for (const name of STATE) {
    replaced.replace(client, name, {
      get: () => response[name],
      set: (value: unknown) => Reflect.set(response, name, value),
    });
  }
}
