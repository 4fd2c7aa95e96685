// What makes two requests the same. All kits hash the same bytes; the vectors
// in idempotency/testdata hold them to it.

import { createHash } from "node:crypto";
import { canonicalJSON } from "./canonical.js";
import { format, lower, parse, percentDecode, percentEncode } from "./mediatype.js";

const VERSION = "v1:";

/** A request as it came in. Strings hold one byte a character, as Node.js gives them. */
export interface RequestLine {
  readonly method: string;
  /** The Host header. */
  readonly host: string;
  /** The request target as the client sent it: path and query. */
  readonly target: string;
  /** The Content-Type header, or "". */
  readonly contentType: string;
}

/**
 * requestFingerprint is over method, host without port, path, query (parameters
 * in any order, the values of one in theirs), content type and body. A media type
 * counts by its meaning, and so does a body of JSON or of several parts.
 */
export function requestFingerprint(request: RequestLine, body: Uint8Array): string {
  const { kind, canonical } = canonicalPayload(request.contentType, body);
  const { path, query } = splitTarget(request.target);
  return hash([
    bytes(request.method),
    bytes(hostname(request.host)),
    bytes(path),
    bytes(canonicalQuery(query)),
    bytes(kind),
    canonical,
  ]);
}

/**
 * payloadFingerprint is for events and vendor calls. A string or bytes count as
 * they are (JSON text by its meaning), any other value by its JSON.
 */
export function payloadFingerprint(payload: unknown): string {
  if (payload === undefined || payload === null) {
    return hash([]);
  }
  if (payload instanceof Uint8Array) {
    return hash([canonicalText(payload)]);
  }
  const text = typeof payload === "string" ? payload : JSON.stringify(payload);
  if (text === undefined) {
    throw new TypeError("the payload has no JSON: use a value, a string or bytes");
  }
  return hash([canonicalText(Buffer.from(text))]);
}

const bytes = (text: string) => Buffer.from(text, "latin1");

/** hash puts each part's length before it, so that no two lists of parts run together. */
function hash(parts: Uint8Array[]): string {
  const digest = createHash("sha256");
  for (const part of parts) {
    digest.update(`${part.length}:`).update(part);
  }
  return VERSION + digest.digest("hex");
}

/**
 * canonicalPayload writes a Content-Type and a body in the one way of all requests
 * that mean the same. The boundary of a multipart body means nothing: a client draws
 * a new one for each attempt.
 */
function canonicalPayload(header: string, body: Uint8Array): { kind: string; canonical: Uint8Array } {
  const parsed = parse(header);
  if (parsed === undefined) {
    return { kind: header, canonical: body };
  }
  const { type, params } = parsed;
  const json = type === "application/json" || type.endsWith("+json");
  const charset = lower(params.get("charset") ?? "");
  if (charset === "utf-8" && (json || type === "application/x-www-form-urlencoded")) {
    params.delete("charset"); // both are UTF-8 without it
  } else if (params.has("charset")) {
    params.set("charset", charset);
  }
  let canonical = json ? canonicalText(body) : body;
  const parts = type.startsWith("multipart/") ? canonicalParts(body, params.get("boundary")) : undefined;
  if (parts !== undefined) {
    params.delete("boundary");
    canonical = parts;
  }
  return { kind: format(type, params), canonical };
}

/** canonicalText writes JSON in its canonical form, and leaves any other text as it is. */
function canonicalText(body: Uint8Array): Uint8Array {
  const text = canonicalJSON(body);
  return text === undefined ? body : Buffer.from(text);
}

/**
 * canonicalParts writes the parts of a multipart body (RFC 2046, section 5.1) without
 * their boundary. It takes only what every reader splits alike: nothing before the
 * first part, no boundary inside of one, and nothing after the last but a line break.
 */
function canonicalParts(body: Uint8Array, boundary = ""): Uint8Array | undefined {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("latin1");
  const [before, ...parts] = text.split(`--${boundary}`);
  const after = parts.pop();
  if (boundary === "" || before !== "" || parts.length === 0 || !["--", "--\r\n"].includes(after ?? "")) {
    return undefined;
  }
  if (!parts.every((part) => part.length >= 4 && part.startsWith("\r\n") && part.endsWith("\r\n"))) {
    return undefined;
  }
  return bytes(parts.map((part) => `${part.length - 4}:${part.slice(2, -2)}`).join(""));
}

/** hostname is a Host header without its port and without the brackets of an IPv6 address. */
function hostname(host: string): string {
  const name = host.replace(/:[0-9]*$/, "").replace(/^\[([^]*)\]$/, "$1");
  return name.replace(/[A-Z]/g, (c) => c.toLowerCase());
}

function splitTarget(target: string): { path: string; query: string } {
  const relative = target.startsWith("/") ? target : target.replace(/^[a-zA-Z][a-zA-Z0-9+.-]*:\/\/[^/?]*/, "");
  const at = relative.indexOf("?");
  return at < 0 ? { path: relative, query: "" } : { path: relative.slice(0, at), query: relative.slice(at + 1) };
}

/** The most parameters that a query is sorted for; of more, the query counts as it is. */
const MAX_PARAMETERS = 10_000;

function canonicalQuery(raw: string): string {
  const parts = raw.split("&");
  const values: [name: string, value: string][] = [];
  if (parts.length > MAX_PARAMETERS) {
    return raw;
  }
  for (const part of parts) {
    if (part === "") {
      continue;
    }
    const at = part.indexOf("=");
    const name = unescapeQuery(at < 0 ? part : part.slice(0, at));
    const value = unescapeQuery(at < 0 ? "" : part.slice(at + 1));
    if (part.includes(";") || name === undefined || value === undefined) {
      return raw;
    }
    values.push([name, value]);
  }
  values.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)); // stable: the values of one name keep their order
  return values.map(([name, value]) => `${escapeQuery(name)}=${escapeQuery(value)}`).join("&");
}

const unescapeQuery = (text: string) => percentDecode(text.replaceAll("+", " "));
const escapeQuery = (text: string) => percentEncode(text, /[^A-Za-z0-9\-_.~ ]/g).replaceAll(" ", "+");
