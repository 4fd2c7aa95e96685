// Checks who calls: that a call was signed by a cronce registry, for this service,
// and with this body. The rules and the test vectors are those of the kit for Go
// (idempotency/verify).

export { hmacVerifier, type HmacOptions } from "./hmac.js";
export { remoteKeys, staticKeys, type Keys } from "./jwks.js";
export { jwtVerifier, type JwtOptions } from "./jwt.js";
export type { SignedCall, Verifier } from "./verifier.js";
