// Verifies calls that cronce signed with libraries that know nothing of it. Reads
// {jwks, issuer, audience, secret, calls: [{headers, body}]} and prints for each
// call "ok", or what the library refused.
import { createHash } from "node:crypto";
import { createLocalJWKSet, jwtVerify } from "jose";
import { Webhook } from "standardwebhooks";

const asked = JSON.parse(process.argv[2]);
const keys = createLocalJWKSet(asked.jwks);

async function judge({ headers, body }) {
  if (headers["webhook-signature"]) {
    // Its verify parses the body as JSON; a body that is empty is none.
    new Webhook(asked.secret).verify(body, headers);
    return "ok";
  }
  const token = headers.authorization.replace(/^Bearer /, "");
  const { payload } = await jwtVerify(token, keys, { issuer: asked.issuer, audience: asked.audience, maxTokenAge: "5 minutes" });
  if (payload.body_sha256 !== createHash("sha256").update(body).digest("base64url")) return "another body";
  if (payload.jti !== headers["idempotency-key"]) return "another key";
  return "ok";
}

const out = [];
for (const call of asked.calls) {
  out.push(await judge(call).catch((e) => `${e.code ?? e.name}: ${e.message}`));
}
console.log(JSON.stringify(out));
