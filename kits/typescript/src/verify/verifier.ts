// What the verifiers of signed calls have in common.

import { KitError } from "../errors.js";

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

/** refused is the error for a call whose signature does not hold. */
export const refused = (why: string) => new KitError("signature_refused", `signature refused: ${why}`);

/** strict decodes what has one spelling only. */
export function strict(text: string, encoding: "base64" | "base64url"): Buffer | undefined {
  const bytes = Buffer.from(text, encoding);
  return bytes.toString(encoding) === text ? bytes : undefined;
}
