// Calls of auth type `hmac`.

import { createHmac, timingSafeEqual } from "node:crypto";
import { refused, strict, type Verifier } from "./verifier.js";

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
        `hmacVerifier: secret ${i + 1} of ${options.secrets.length} is invalid; use whsec_ and at least 24 bytes in base64`,
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
        throw refused("the call was signed too long ago, or in the future; compare the clocks");
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
