// Verifies calls that cronce signed with libraries that know nothing of it. Reads
// {jwks, issuer, audience, secret, calls: [{target, headers, body}]} and prints for each
// call "ok", or what the library refused.
import { createHash, createHmac } from "node:crypto";
import { SignatureV4 } from "@smithy/signature-v4";
import { createLocalJWKSet, jwtVerify } from "jose";
import { Webhook } from "standardwebhooks";

const asked = JSON.parse(process.argv[2]);
const keys = createLocalJWKSet(asked.jwks);

class Sha256 {
  constructor(secret) {
    this.hash = secret === undefined ? createHash("sha256") : createHmac("sha256", secret);
  }
  update(data) {
    this.hash.update(data);
  }
  async digest() {
    return new Uint8Array(this.hash.digest());
  }
}

// AWS's own signer signs the same request; the signature is checked by comparison.
async function judgeSigV4({ target, headers, body }) {
  const [, scope, names] = /Credential=[^/]+\/([^,]+), SignedHeaders=([^,]+),/.exec(headers.authorization);
  const [, region, service] = scope.split("/");
  const at = headers["x-amz-date"].replace(/^(.{4})(..)(..)T(..)(..)(..)Z$/, "$1-$2-$3T$4:$5:$6Z");
  const url = new URL(`http://${headers.host}`);
  const [path, query] = target.split("?");
  const params = {};
  for (const [name, value] of new URLSearchParams(query)) {
    (params[name] ??= []).push(value);
  }
  const signed = Object.fromEntries(names.split(";").map((name) => [name, headers[name]]));
  // The signer takes the body's hash from this field, where there is one.
  signed["x-amz-content-sha256"] = createHash("sha256").update(body).digest("hex");
  const credentials = { accessKeyId: asked.keys.id, secretAccessKey: asked.keys.secret, sessionToken: asked.keys.session };
  const signer = new SignatureV4({ credentials, region, service, sha256: Sha256, applyChecksum: false });
  const request = { method: "POST", protocol: "http:", hostname: url.hostname, path, query: params, headers: signed, body };
  const again = await signer.sign(request, { signingDate: new Date(at) });
  return again.headers.authorization === headers.authorization ? "ok" : "another signature";
}

async function judge(call) {
  const { headers, body } = call;
  if (headers["x-amz-date"]) {
    return judgeSigV4(call);
  }
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
