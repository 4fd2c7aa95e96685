// Checks who calls: that a call was signed by a cronce registry, for this service,
// and with this body. The rules and the test vectors are those of the kit for Go
// (idempotency/verify).

import { createHash, createHmac, timingSafeEqual, verify as verifySignature, type KeyObject } from "node:crypto";
import { KitError } from "./errors.js";
import { parseKeys, type PublicKey } from "./jwks.js";

/** A call as a {@link Verifier} sees it. */
export interface SignedCall {
  /** Each value of a header. */
  header(name: string): readonly string[];
  readonly body: Uint8Array;
}

/**
 * Verifier is the `principal` of an adapter whose callers sign their calls:
 * {@link jwtVerifier} or {@link hmacVerifier}. A call that is sent again as it was
 * repeats its key, which has no second effect. The route is not signed: serve over
 * TLS.
 */
export interface Verifier {
  /**
   * verify returns the principal, the registry's name. It throws a {@link KitError}:
   * `signature_refused`, or `verification_keys_unavailable` while the keys cannot be
   * read.
   */
  verify(call: SignedCall): Promise<string>;
}

/** Keys are the public keys of a registry: {@link staticKeys} or {@link remoteKeys}. */
export interface Keys {
  /** @internal */
  key(id: string): Promise<PublicKey>;
}

/** JwtOptions configure {@link jwtVerifier}. */
export interface JwtOptions {
  /** The registry's name; it becomes the principal. */
  readonly issuer: string;
  /** What the registry has as the target's audience; by default the target's name. */
  readonly audience: string;
  readonly keys: Keys;
  /** How far the clocks may be apart; default 1 min. */
  readonly skewMs?: number;
  /** Default `Date.now`. */
  readonly now?: () => number;
}

const MAX_TOKEN = 8 << 10;
const MAX_LIFE_S = 5 * 60; // of a token of cronce

const refused = (why: string) => new KitError("signature_refused", `signature refused: ${why}`);

/** jwtVerifier verifies calls of auth type `jwt` (Ed25519 or ES256). */
export function jwtVerifier(options: JwtOptions): Verifier {
  if (!options.issuer || !options.audience || !options.keys) {
    throw new TypeError("jwtVerifier: give issuer, audience and keys");
  }
  return {
    async verify(call) {
      const given = call.header("authorization");
      const [, token] = /^bearer ([^ ,]+)$/i.exec(given[0] ?? "") ?? [];
      if (given.length !== 1 || token === undefined || token.length > MAX_TOKEN) {
        throw refused("the call has no bearer token");
      }
      const claims = await open(token, options.keys);
      judge(claims, options);
      if (claims["body_sha256"] !== createHash("sha256").update(call.body).digest("base64url")) {
        throw refused("the token is for another body");
      }
      const keys = call.header("idempotency-key");
      if (!claims["jti"] || keys.length !== 1 || claims["jti"] !== keys[0]) {
        throw refused("the token is for another idempotency key");
      }
      return options.issuer;
    },
  };
}

/** open checks the signature with the algorithm that the key is for: what the token says of it decides nothing. */
async function open(token: string, keys: Keys): Promise<Record<string, unknown>> {
  const parts = token.split(".");
  const signature = strict(parts[2] ?? "", "base64url");
  const header = objectOf(parts[0] ?? "");
  if (parts.length !== 3 || signature === undefined || header === undefined) {
    throw refused("the token is not a signed JWT");
  }
  if ("crit" in header) {
    throw refused("the token has extensions that are not known here");
  }
  const key = await keys.key(typeof header["kid"] === "string" ? header["kid"] : "");
  if (header["alg"] !== key.alg || !signed(key, Buffer.from(`${parts[0]}.${parts[1]}`), signature)) {
    throw refused("the token's signature is not of its key");
  }
  const claims = objectOf(parts[1]!);
  if (claims === undefined) {
    throw refused("the token's claims are not what cronce writes");
  }
  return claims;
}

function signed(key: PublicKey, data: Buffer, signature: Buffer): boolean {
  if (signature.length !== 64) {
    return false;
  }
  const how: KeyObject | { key: KeyObject; dsaEncoding: "ieee-p1363" } =
    key.alg === "EdDSA" ? key.key : { key: key.key, dsaEncoding: "ieee-p1363" };
  return verifySignature(key.alg === "EdDSA" ? null : "sha256", data, how, signature);
}

function judge(claims: Record<string, unknown>, options: JwtOptions): void {
  const now = (options.now ?? Date.now)() / 1000;
  const skew = (options.skewMs ?? 60_000) / 1000;
  const { iss, aud, sub, iat, exp } = claims;
  if (iss !== options.issuer) {
    throw refused("the token is of another issuer");
  }
  if (![aud].flat().includes(options.audience)) {
    throw refused("the token is for another audience");
  }
  if (!isTime(iat) || !isTime(exp) || exp - iat > MAX_LIFE_S) {
    throw refused("the token says no time, or lives longer than 5 minutes");
  }
  if (now > exp + skew) {
    throw refused("the token has expired; are the clocks apart?");
  }
  if (now < iat - skew) {
    throw refused("the token is of the future; are the clocks apart?");
  }
  if (typeof sub !== "string" || sub === "") {
    throw refused("the token names no job");
  }
}

const isTime = (value: unknown): value is number => Number.isSafeInteger(value) && value !== 0;

function objectOf(part: string): Record<string, unknown> | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(strict(part, "base64url"));
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** strict decodes what has one spelling only. */
function strict(text: string, encoding: "base64" | "base64url"): Buffer | undefined {
  const bytes = Buffer.from(text, encoding);
  return bytes.toString(encoding) === text ? bytes : undefined;
}

/** HmacOptions configure {@link hmacVerifier}. */
export interface HmacOptions {
  /** The registry's name. */
  readonly principal: string;
  /** `whsec_…`; a call may be signed with any of them. While a secret is rotated there are two. */
  readonly secrets: readonly string[];
  /** How old or how new a call may be; default 5 min. */
  readonly skewMs?: number;
  /** Default `Date.now`. */
  readonly now?: () => number;
}

const MAX_SIGNATURES = 8;

/** hmacVerifier verifies calls of auth type `hmac` (https://www.standardwebhooks.com). */
export function hmacVerifier(options: HmacOptions): Verifier {
  const keys = options.secrets.map((text, i) => {
    const key = strict(text.replace(/^whsec_/, ""), "base64");
    if (key === undefined || key.length < 24) {
      throw new TypeError(
        `hmacVerifier: secret ${i + 1} of ${options.secrets.length} is not whsec_ and at least 24 bytes in base64`,
      );
    }
    return key;
  });
  if (!options.principal || keys.length === 0) {
    throw new TypeError("hmacVerifier: give a principal and at least one secret");
  }
  return {
    async verify(call) {
      const [id = "", at = "", signatures = ""] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map(
        (name) => {
          const values = call.header(name);
          return values.length === 1 ? values[0] : "";
        },
      );
      if (id === "" || id.includes(".") || !/^\d{1,12}$/.test(at)) {
        throw refused("the call has no webhook-id, webhook-timestamp and webhook-signature");
      }
      if (!ofSome(keys, signatures, `${id}.${at}.`, call.body)) {
        throw refused("the signature is not of a secret that is known here, or of another body");
      }
      if (Math.abs((options.now ?? Date.now)() - Number(at) * 1000) > (options.skewMs ?? 5 * 60_000)) {
        throw refused("the call is too old, or of the future; are the clocks apart?");
      }
      // Of the key that the ID was made of, there is one alone: a key that has %2E itself
      // must not pass for it, as a recorded call would then work again under that key.
      const given = call.header("idempotency-key");
      if (given.length !== 1 || given[0] !== id.replaceAll("%2E", ".")) {
        throw refused("the signature is for another idempotency key");
      }
      return options.principal;
    },
  };
}

/** ofSome reports whether one of the signatures, `v1,BASE64` separated by blanks, is of one of the keys. */
function ofSome(keys: readonly Buffer[], signatures: string, prefix: string, body: Uint8Array): boolean {
  const wanted = keys.map((key) => createHmac("sha256", key).update(prefix, "latin1").update(body).digest());
  return signatures
    .split(/\s+/)
    .filter((text) => text !== "")
    .slice(0, MAX_SIGNATURES)
    .some((text) => {
      const got = text.startsWith("v1,") ? strict(text.slice("v1,".length), "base64") : undefined;
      return wanted.some((mac) => got?.length === mac.length && timingSafeEqual(got, mac));
    });
}

/**
 * staticKeys reads a JSON Web Key Set, as `cronce export jwks` prints it. Keys of
 * other types and uses are left out.
 */
export function staticKeys(jwks: string | object): Keys {
  const keys = parseKeys(typeof jwks === "string" ? JSON.parse(jwks) : jwks);
  return { key: async (id) => keys.get(id) ?? unknownKey() };
}

function unknownKey(): never {
  throw refused("the token's key is not one of the registry's");
}

const KEYS_LIFE_MS = 5 * 60_000; // how long a set is used before it is read again
const KEYS_PAUSE_MS = 10_000; // the least time between two readings
const KEYS_TIME_MS = 5_000; // for one reading
const MAX_KEYS = 256 << 10;

/**
 * remoteKeys reads a registry's key set from a URL when it is first needed, again
 * after five minutes, and for a token of a key that it does not have, at most every
 * ten seconds. A set that cannot be read again stays in use.
 */
export function remoteKeys(url: string, now: () => number = Date.now): Keys {
  let keys = new Map<string, PublicKey>();
  let read = -Infinity;
  let tried = -Infinity;
  let reading: Promise<boolean> | undefined;
  const refresh = async () => {
    tried = now();
    try {
      keys = await fetchKeys(url);
      read = tried;
      return true;
    } catch {
      return false;
    } finally {
      reading = undefined;
    }
  };
  /** fresh reports whether the set is of this moment. */
  const fresh = () => {
    if (reading === undefined && now() - tried < KEYS_PAUSE_MS) {
      return false;
    }
    return (reading ??= refresh());
  };
  return {
    async key(id) {
      const known = keys.get(id);
      if (known !== undefined) {
        if (now() - read > KEYS_LIFE_MS) {
          await fresh();
        }
        return keys.get(id) ?? known;
      }
      if (!(await fresh())) {
        throw new KitError("verification_keys_unavailable", "the caller's keys cannot be read at the moment");
      }
      return keys.get(id) ?? unknownKey();
    },
  };
}

async function fetchKeys(url: string): Promise<Map<string, PublicKey>> {
  const response = await fetch(url, { redirect: "error", signal: AbortSignal.timeout(KEYS_TIME_MS) });
  if (response.status !== 200 || response.body === null) {
    await response.body?.cancel();
    throw new Error(`HTTP ${response.status}`);
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > MAX_KEYS) {
      throw new Error("the key set is too long");
    }
    chunks.push(chunk);
  }
  return parseKeys(JSON.parse(Buffer.concat(chunks).toString()));
}
