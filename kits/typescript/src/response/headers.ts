// The headers of a response of node:http.

import type { OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from "node:http";

/** GivenHeaders are the headers of a writeHead. */
export type GivenHeaders = OutgoingHttpHeaders | OutgoingHttpHeader[];

/** setAll sets the headers of a writeHead: an object, or names and values in turn, in which a name can be repeated. */
export function setAll(response: ServerResponse, headers: GivenHeaders | undefined): void {
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

/** MiddlewareHeaders are the headers that middleware around the route has set on a response, to be put back. */
export class MiddlewareHeaders {
  readonly #headers: OutgoingHttpHeaders;

  constructor(readonly response: ServerResponse) {
    this.#headers = copied(response.getHeaders());
  }

  /** restore removes and puts back the headers that have changed since. */
  restore(): void {
    const now = this.response.getHeaders();
    for (const name of Object.keys(now).filter((n) => !(n in this.#headers))) {
      this.response.removeHeader(name);
    }
    for (const [name, value] of Object.entries(this.#headers)) {
      if (String(now[name]) !== String(value)) {
        this.response.setHeader(name, value!);
      }
    }
  }
}

/** copied copies lists too, which appendHeader changes in place. */
export function copied(headers: OutgoingHttpHeaders): OutgoingHttpHeaders {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? [...value] : value]),
  );
}
