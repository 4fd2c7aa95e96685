// Calls of auth type `jwt`.

import { createHash, verify as verifySignature, type KeyObject } from "node:crypto";
import type { Keys, PublicKey } from "./jwks.js";
import { refused, strict, type Verifier } from "./verifier.js";

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
      checkClaims(claims, options);
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

function checkClaims(claims: Record<string, unknown>, options: JwtOptions): void {
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
    throw refused("the token has no iat or exp, or is valid for longer than 5 minutes");
  }
  if (now > exp + skew) {
    throw refused("the token has expired; compare the clocks");
  }
  if (now < iat - skew) {
    throw refused("the token was issued in the future; compare the clocks");
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
