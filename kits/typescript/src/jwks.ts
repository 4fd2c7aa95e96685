// JSON Web Key Sets (RFC 7517) of the two kinds of keys that sign calls.

import { createPublicKey, type KeyObject } from "node:crypto";

/** PublicKey is for one algorithm alone. */
export interface PublicKey {
  readonly alg: "EdDSA" | "ES256";
  readonly key: KeyObject;
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
