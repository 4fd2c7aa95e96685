// Replies: which are stored, and which of their headers.

/** What becomes of finished work. */
export type Disposition =
  | "commit" // store the reply and commit the work with it
  | "record" // roll the work back and store the reply
  | "release"; // roll the work back and leave the key free

/** Headers by their canonical names, such as Content-Type. */
export type StoredHeaders = Record<string, string[] | null>;

/** Reply is what a call came to: what is sent, stored and sent again. */
export interface Reply {
  /** HTTP status; 0 behind `once` and `callOnce`, but 422 for a {@link FinalError}. */
  readonly status: number;
  readonly headers: StoredHeaders;
  readonly body: Uint8Array;
  /** The body could not be stored. */
  readonly omitted: boolean;
  /** When the key is forgotten; absent when nothing was stored. */
  readonly expiresAt?: Date;
}

/** HttpReply is what a route's handler answers, in full. */
export interface HttpReply {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
}

/** isBodiless reports whether an answer with the status has no body. */
export const isBodiless = (status: number) => status === 204 || status === 205 || status === 304;

/** checkLength throws when a reply announces another length than it has, which a client would wait for. */
export function checkLength(status: number, announced: unknown, body: Uint8Array): void {
  if (announced != null && !isBodiless(status) && Number(announced) !== body.length) {
    throw new Error(`the response has ${body.length} bytes, and its Content-Length says ${String(announced)}`);
  }
}

const STORED_STATUSES = new Set([400, 404, 410, 413, 415, 422]);

/**
 * defaultPolicy commits 2xx and 3xx, stores the answers that the same request
 * would get again (400, 404, 410, 413, 415, 422) without the handler's writes,
 * and leaves the key free after everything else.
 */
export function defaultPolicy(status: number): Disposition {
  if (status >= 200 && status < 400) {
    return "commit";
  }
  return STORED_STATUSES.has(status) ? "record" : "release";
}

const REPLAYED = [
  "Cache-Control",
  "Content-Disposition",
  "Content-Encoding",
  "Content-Language",
  "Content-Location",
  "Content-Type",
  "Etag",
  "Expires",
  "Last-Modified",
  "Link",
  "Location",
  "Vary",
];

const NEVER_REPLAYED = new Set([
  "Set-Cookie",
  "Date",
  "Connection",
  "Keep-Alive",
  "Proxy-Authenticate",
  "Proxy-Connection",
  "Te",
  "Trailer",
  "Transfer-Encoding",
  "Upgrade",
  "Content-Length",
  "Www-Authenticate",
  "Authorization",
]);

/** What only the kit says of a reply: a handler may pass on another service's answer. */
const OWN = new Set(["Idempotent-Replayed", "Idempotency-Key-Expires", "Idempotency-Body"]);

/** canonicalName is a header's name in the form in which it is stored. */
export function canonicalName(name: string): string {
  return name.toLowerCase().replace(/(^|-)[a-z]/g, (c) => c.toUpperCase());
}

/** replayable are the canonical names of the headers that are replayed. */
export function replayable(more: readonly string[]): Set<string> {
  return new Set([...REPLAYED, ...more.map(canonicalName)].filter((n) => !NEVER_REPLAYED.has(n) && !OWN.has(n)));
}

/** Headers of a connection, which the server sets for an answer that is sent whole. */
const OF_CONNECTION = new Set([
  "Content-Length",
  "Http2-Settings",
  "Keep-Alive",
  "Proxy-Connection",
  "Te",
  "Trailer",
  "Transfer-Encoding",
  "Upgrade",
]);

/** ofHandler drops the headers that only the kit sets, and those of the connection. */
export function ofHandler(headers: HttpReply["headers"]): HttpReply["headers"] {
  return headers.filter(([name]) => !OWN.has(canonicalName(name)) && !OF_CONNECTION.has(canonicalName(name)));
}

/** storedHeaders picks what is replayed of a reply's headers. Values that are not text are left out. */
export function storedHeaders(headers: HttpReply["headers"], names: Set<string>): StoredHeaders {
  // A reply without a type stays one: Go would guess it where the name is missing.
  const stored: Record<string, string[]> = { "Content-Type": [] };
  const unfit = new Set<string>();
  for (const [given, value] of headers) {
    const name = canonicalName(given);
    const text = textOf(value);
    if (!names.has(name)) {
      continue;
    }
    if (text === undefined) {
      unfit.add(name);
    } else {
      (stored[name] ??= []).push(text);
    }
  }
  return Object.fromEntries(Object.entries(stored).filter(([name]) => !unfit.has(name)));
}

// On the wire a value is bytes, one a character; in the table it is text.
function textOf(value: string): string | undefined {
  if (!/[^\x01-\x7f]/.test(value)) {
    return value;
  }
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.from(value, "latin1"));
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}

/** sentHeaders are a stored reply's headers as they are sent. */
export function sentHeaders(stored: StoredHeaders): [name: string, value: string][] {
  return Object.entries(stored).flatMap(([name, values]) =>
    (values ?? []).map((value): [string, string] => [name, Buffer.from(value).toString("latin1")]),
  );
}

/**
 * accepts reports whether a request names the encoding, or else all by *, and
 * does not rule it out. Without the header all are acceptable (RFC 9110, section
 * 12.5.3).
 */
export function accepts(acceptEncoding: string | undefined, encoding: string): boolean {
  if (acceptEncoding === undefined) {
    return true;
  }
  let all = false;
  for (const item of acceptEncoding.split(",")) {
    const [name = "", weight] = item.split(";", 2);
    const wanted = weight === undefined || !/^q=0(\.0*)?$/i.test(weight.replaceAll(" ", ""));
    if (name.trim().toLowerCase() === encoding.toLowerCase()) {
      return wanted;
    }
    all ||= name.trim() === "*" && wanted;
  }
  return all;
}
