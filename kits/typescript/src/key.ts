// The grammar of keys and scopes, which all kits share.

import { KitError } from "./errors.js";

/** Limits of the parts of a key, in bytes. */
export const MAX_KEY = 128;
export const MAX_SCOPE = 255;
export const MAX_PRINCIPAL = 255;

/** Key identifies one operation. All three parts are compared byte by byte. */
export interface Key {
  /** The namespace of the key and the owner of its TTL: a route or an event and its handler. */
  readonly scope: string;
  /** Whose key it is: the caller's identity, not its token. */
  readonly principal: string;
  /** What the caller sent: 1 to 128 characters of printable ASCII. */
  readonly value: string;
}

/** In `ttlsMs`, every scope that {@link eventScope} makes. */
export const EVENT_SCOPES = "event:*";

/** routeScope is the default scope of the Go kit for a route, such as `route:POST_/v1/payments`. */
export function routeScope(method: string, path: string): string {
  return `route:${method}_${path}`;
}

/**
 * eventScope is the scope of an event's keys for one of its handlers, such as
 * `event:order.placed.v1/commission`. Two handlers of one event need two scopes.
 */
export function eventScope(event: string, handler: string): string {
  return `event:${event.replaceAll("%", "%25").replaceAll("/", "%2F")}/${handler}`;
}

const invalid = (reason: string) => new KitError("invalid_idempotency_key", `invalid idempotency key: ${reason}`);

/**
 * parseKey reads the value of an Idempotency-Key header: a structured-field
 * string (RFC 9651, section 3.3.3) or the same text without quotes. It throws a
 * {@link KitError} with the code `invalid_idempotency_key`.
 */
export function parseKey(header: string): string {
  const text = header.replace(/^[ \t]+|[ \t]+$/g, "");
  if (text.startsWith('"')) {
    return checkValue(unquote(text));
  }
  if (/[ "]/.test(text)) {
    throw invalid("a key with a space or a quote in it must be quoted");
  }
  return checkValue(text);
}

function unquote(text: string): string {
  let key = "";
  for (let i = 1; i < text.length; i++) {
    const c = text[i]!;
    if (c === '"') {
      if (i !== text.length - 1) {
        throw invalid("text after the closing quote");
      }
      return key;
    }
    if (c === "\\") {
      i++;
      if (text[i] !== '"' && text[i] !== "\\") {
        throw invalid("a backslash may only escape a quote or a backslash");
      }
      key += text[i];
      continue;
    }
    key += c;
  }
  throw invalid("the closing quote is missing");
}

function checkValue(key: string): string {
  if (key === "" || key.length > MAX_KEY) {
    throw invalid(`it must have 1 to ${MAX_KEY} characters, not ${key.length}`);
  }
  if (!/^[ -~]*$/.test(key)) {
    throw invalid("only printable ASCII is allowed");
  }
  return key;
}

/** checkKey throws a {@link KitError} if a part of the key cannot be stored. */
export function checkKey(key: Key): void {
  checkValue(key.value);
  for (const [name, text, max] of [
    ["scope", key.scope, MAX_SCOPE],
    ["principal", key.principal, MAX_PRINCIPAL],
  ] as const) {
    if (text === "" || Buffer.byteLength(text) > max || text.includes("\0") || !text.isWellFormed()) {
      throw invalid(`the ${name} must have 1 to ${max} bytes of UTF-8 and no NUL`);
    }
  }
}
