// JSON Web Key Sets (RFC 7517) of the two kinds of keys that sign calls.

import { createPublicKey, type KeyObject } from "node:crypto";
import { KitError } from "../errors.js";
import { refused } from "./verifier.js";

/** PublicKey is for one algorithm alone. */
export interface PublicKey {
  readonly alg: "EdDSA" | "ES256";
  readonly key: KeyObject;
}

/** Keys are the public keys of a registry: {@link staticKeys} or {@link remoteKeys}. */
export interface Keys {
  /** @internal */
  key(id: string): Promise<PublicKey>;
}

/** parseKeys reads a set, by the keys' IDs. Keys of other types and uses, and those that cannot be read, are left out. */
export function parseKeys(set: unknown): Map<string, PublicKey> {
  const list = (set as { keys?: unknown } | null)?.keys;
  if (!Array.isArray(list)) {
    throw new TypeError("not a JSON Web Key Set");
  }
  const keys = new Map<string, PublicKey>();
  for (const jwk of list as Record<string, unknown>[]) {
    const { kid, use, alg } = jwk ?? {};
    const key = typeof kid === "string" && kid !== "" && (!use || use === "sig") ? publicKey(jwk) : undefined;
    if (key === undefined) {
      continue;
    }
    if (keys.has(kid as string)) {
      throw new TypeError(`two keys have the ID ${JSON.stringify(kid)}`);
    }
    if (!alg || alg === key.alg) {
      keys.set(kid as string, key);
    }
  }
  return keys;
}

function publicKey({ kty, crv, x, y }: Record<string, unknown>): PublicKey | undefined {
  try {
    if (kty === "OKP" && crv === "Ed25519" && has32(x)) {
      return { alg: "EdDSA", key: createPublicKey({ key: { kty, crv, x }, format: "jwk" }) };
    }
    if (kty === "EC" && crv === "P-256" && has32(x) && has32(y)) {
      return { alg: "ES256", key: createPublicKey({ key: { kty, crv, x, y }, format: "jwk" }) };
    }
  } catch {
    // a point that is not on the curve
  }
  return undefined;
}

const has32 = (text: unknown): text is string =>
  typeof text === "string" && Buffer.from(text, "base64url").length === 32;

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
export function remoteKeys(url: string): Keys {
  let keys = new Map<string, PublicKey>();
  let read = -Infinity;
  let tried = -Infinity;
  let reading: Promise<boolean> | undefined;
  const refresh = async () => {
    tried = performance.now();
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
    if (reading === undefined && performance.now() - tried < KEYS_PAUSE_MS) {
      return false;
    }
    return (reading ??= refresh());
  };
  return {
    async key(id) {
      const known = keys.get(id);
      if (known !== undefined) {
        if (performance.now() - read > KEYS_LIFE_MS) {
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
