// Signed calls: the vectors that the verifiers of all languages share, key sets that
// change, and a verifier as the principal of each adapter.

import assert from "node:assert/strict";
import { createHmac, generateKeyPairSync, sign, createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { hasCode, Kit } from "@cronce/idempotency";
import { expressIdempotency } from "@cronce/idempotency/express";
import { fastifyIdempotency } from "@cronce/idempotency/fastify";
import { honoIdempotency } from "@cronce/idempotency/hono";
import { nextIdempotency } from "@cronce/idempotency/next";
import {
  hmacVerifier,
  jwtVerifier,
  remoteKeys,
  staticKeys,
  type SignedCall,
  type Verifier,
} from "@cronce/idempotency/verify";
import express from "express";
import { fastify } from "fastify";
import { Hono } from "hono";
import { database, insert } from "../support/database.js";

interface Vector {
  name: string;
  headers: Record<string, string[]>;
  body: string;
  status: number;
}

const file = new URL("../../../../../idempotency/testdata/signed.json", import.meta.url);
const vectors = JSON.parse(readFileSync(file, "utf8")) as {
  now: number;
  issuer: string;
  audience: string;
  jwks: object;
  principal: string;
  secret: string;
  jwt: Vector[];
  hmac: Vector[];
};
const now = () => vectors.now * 1000;
const { issuer, audience, principal, secret } = vectors;
const ofVector = (v: Vector): SignedCall => ({ header: (name) => v.headers[name] ?? [], body: Buffer.from(v.body) });

async function status(verifier: Verifier, call: SignedCall): Promise<number> {
  try {
    assert.equal(await verifier.verify(call), issuer);
    return 200;
  } catch (error) {
    if (hasCode(error, "verification_keys_unavailable")) {
      return 503;
    }
    assert.ok(hasCode(error, "signature_refused"), String(error));
    return 401;
  }
}

for (const [kind, verifier] of [
  ["jwt", jwtVerifier({ issuer, audience, keys: staticKeys(vectors.jwks), now })],
  ["hmac", hmacVerifier({ principal, secrets: [secret], now })],
] as const) {
  for (const v of vectors[kind]) {
    test(`${kind}, ${v.name}: answered as by the kit for Go`, async () => {
      assert.equal(await status(verifier, ofVector(v)), v.status);
    });
  }
}

test("the clocks may be apart a little", async () => {
  const good = ofVector(vectors.jwt.find((v) => v.name === "Ed25519")!);
  for (const [apart, skewMs, want] of [
    [50, undefined, 200],
    [-50, undefined, 200],
    [-120, undefined, 401],
    [350, undefined, 200],
    [420, undefined, 401],
    [420, 180_000, 200],
  ] as const) {
    const options = { issuer, audience, keys: staticKeys(vectors.jwks), now: () => now() + apart * 1000 };
    assert.equal(await status(jwtVerifier({ ...options, ...(skewMs && { skewMs }) }), good), want, `${apart} s`);
  }
});

test("a verifier takes the secret before and the next", async () => {
  const other = `whsec_${Buffer.alloc(24, 1).toString("base64")}`;
  const good = ofVector(vectors.hmac.find((v) => v.name === "signed")!);
  assert.equal(await status(hmacVerifier({ principal, secrets: [other, secret], now }), good), 200);
  for (const secrets of [[], ["whsec_short"], [secret, "whsec_AAAA"], ["whsec_!!!!"]]) {
    assert.throws(
      () => hmacVerifier({ principal, secrets }),
      (e: Error) => !e.message.includes("AAAA"),
    );
  }
});

test("sets that are none are refused", () => {
  const twice = { keys: [0, 1].map(() => (vectors.jwks as { keys: object[] }).keys[0]!) };
  for (const set of ["{}", "[]", '{"keys":null}', twice]) {
    assert.throws(() => staticKeys(set), TypeError);
  }
});

/** registry signs tokens and publishes its key. */
function registry(kid: string) {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return {
    jwks: JSON.stringify({ keys: [{ ...publicKey.export({ format: "jwk" }), kid, use: "sig", alg: "EdDSA" }] }),
    token(key: string, body: string, at = Date.now()) {
      const iat = Math.floor(at / 1000);
      const claims = { iss: "acme", aud: "orders", sub: "job", jti: key, iat, exp: iat + 300 };
      const body_sha256 = createHash("sha256").update(body).digest("base64url");
      const input = `${part({ alg: "EdDSA", kid })}.${part({ ...claims, body_sha256 })}`;
      return `${input}.${sign(null, Buffer.from(input), privateKey).toString("base64url")}`;
    },
  };
}

test("remote keys are read again", async (t) => {
  const old = registry("ed");
  const rotated = registry("ed2");
  let [published, answer, reads, at] = [old.jwks, 302, 0, Date.now()];
  const server = createServer((_, response) => {
    reads++;
    response.writeHead(answer, { Location: "/elsewhere" }).end(published);
  }).listen(0, "127.0.0.1");
  after(() => server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`;
  t.mock.method(performance, "now", () => at);
  const verifier = jwtVerifier({ issuer: "acme", audience: "orders", keys: remoteKeys(url), now: () => at });
  const expect = async (when: string, by: typeof old, want: number, wantReads: number) => {
    const headers: Record<string, string[]> = {
      authorization: [`Bearer ${by.token("k", "{}", at)}`],
      "idempotency-key": ["k"],
    };
    const call = { header: (name: string) => headers[name] ?? [], body: Buffer.from("{}") };
    const statuses = await Promise.all([0, 1, 2].map(() => jwtStatus(verifier, call)));
    assert.deepEqual([statuses, reads], [[want, want, want], wantReads], when);
  };
  await expect("a redirect is not followed", old, 503, 1);
  answer = 200;
  await expect("nor is it asked at once again", old, 503, 1);
  at += 11_000;
  await expect("the first call", old, 200, 2);
  published = rotated.jwks;
  await expect("a new key a moment later comes again", rotated, 503, 2);
  at += 11_000;
  await expect("a new key", rotated, 200, 3);
  at += 11_000;
  published = `{"keys":[${" ".repeat(300_000)}]}`;
  await expect("an endless set is not read", old, 503, 4);
  published = rotated.jwks;
  at += 11_000;
  await expect("a key that is gone", old, 401, 5);
  answer = 500;
  at += 6 * 60_000;
  await expect("an old set while the address fails", rotated, 200, 6);
});

async function jwtStatus(verifier: Verifier, call: SignedCall): Promise<number> {
  try {
    return (await verifier.verify(call)) === "acme" ? 200 : 0;
  } catch (error) {
    return hasCode(error, "verification_keys_unavailable") ? 503 : 401;
  }
}

test("a verifier is the principal of each adapter, and reads the body that the handler gets", async () => {
  const db = await database();
  const kit = new Kit(db.store);
  const by = registry("ed");
  const options = { principal: jwtVerifier({ issuer: "acme", audience: "orders", keys: staticKeys(by.jwks) }) };

  const reads: string[] = [];
  const isRead = (method: string) => method === "GET" && reads.push(method) > 0;
  const hono = new Hono().all(
    "/",
    honoIdempotency(kit, options)({ scope: "hono" }, async (c) => {
      if (isRead(c.req.method)) {
        return c.text("read");
      }
      await c.var.tx.query(insert, ["hono"]);
      return c.json(await c.req.json());
    }),
  );
  const next = nextIdempotency(kit, options)({ scope: "next" }, async (request, tx) => {
    if (isRead(request.method)) {
      return new Response("read");
    }
    await tx.query(insert, ["next"]);
    return Response.json(await request.json());
  });
  const app = express().all(
    "/",
    expressIdempotency(kit, options)({ scope: "express" }, async (request, response, tx) => {
      if (isRead(request.method)) {
        response.send("read");
        return;
      }
      await tx.query(insert, ["express"]);
      response.json(request.body);
    }),
  );
  const server = app.listen(0, "127.0.0.1");
  after(() => server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const fast = fastify();
  const route = fastifyIdempotency(kit, options)({ scope: "fastify" }, async (request, _, tx) => {
    if (isRead(request.method)) {
      return "read";
    }
    await tx.query(insert, ["fastify"]);
    return request.body;
  });
  fast.post("/", route).get("/", route);
  after(() => fast.close());

  const asked: Record<string, (init: RequestInit) => Response | Promise<Response>> = {
    hono: (init) => hono.request("/", init),
    next: (init) => next(new Request("http://service/", init), undefined),
    express: (init) => fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, init),
    fastify: async (init) => {
      const { method, headers, body } = init as { method: "POST"; headers: Record<string, string>; body: string };
      const answer = await fast.inject({ method, url: "/", headers, payload: body });
      return new Response(answer.body, {
        status: answer.statusCode,
        headers: answer.headers as Record<string, string>,
      });
    },
  };
  for (const [name, ask] of Object.entries(asked)) {
    const body = '{"a": 1}';
    const headers = {
      "Content-Type": "application/json",
      "Idempotency-Key": "k",
      Authorization: `Bearer ${by.token("k", body)}`,
    };
    const first = await ask({ method: "POST", headers, body });
    assert.deepEqual([first.status, await first.json()], [200, { a: 1 }], name);
    const again = await ask({ method: "POST", headers, body });
    assert.equal(again.headers.get("Idempotent-Replayed"), "true", name);
    for (const forged of [
      { headers, body: '{"a": 2}' },
      { headers: { ...headers, "Idempotency-Key": "other" }, body },
      { headers: { ...headers, Authorization: `Bearer ${registry("ed").token("k", body)}` }, body },
      { headers: { "Content-Type": "application/json" }, body },
    ]) {
      const refused = await ask({ method: "POST", ...forged });
      assert.equal(refused.status, 401, name);
      assert.match(refused.headers.get("WWW-Authenticate") ?? "", /invalid_token/);
      assert.equal(((await refused.json()) as { code: string }).code, "signature_refused");
    }
    assert.equal(await db.effects(name), 1, name);
    reads.length = 0;
    const unsigned = await ask({ method: "GET" });
    assert.deepEqual([unsigned.status, reads.length], [401, 0], `${name}: a GET that is not signed`);
    const signed = { Authorization: `Bearer ${by.token("r", "")}`, "Idempotency-Key": "r" };
    const read = await ask({ method: "GET", headers: signed });
    assert.deepEqual([await read.text(), reads.length], ["read", 1], `${name}: a GET that is signed`);
  }
});

test("a webhook's principal is its registry's", async () => {
  const db = await database();
  const hono = new Hono().post(
    "/",
    honoIdempotency(new Kit(db.store), { principal: hmacVerifier({ principal: "acme", secrets: [secret] }) })(
      { scope: "s" },
      async (c) => {
        await c.var.tx.query(insert, ["webhook"]);
        return c.text("done");
      },
    ),
  );
  const at = String(Math.floor(Date.now() / 1000));
  const mac = createHmac("sha256", Buffer.from(secret.slice("whsec_".length), "base64"))
    .update(`a%2Eb.${at}.x`)
    .digest("base64");
  const headers = {
    "Idempotency-Key": "a.b",
    "Webhook-Id": "a%2Eb",
    "Webhook-Timestamp": at,
    "Webhook-Signature": `v1,${mac}`,
  };
  assert.equal((await hono.request("/", { method: "POST", headers, body: "x" })).status, 200);
  assert.equal((await hono.request("/", { method: "POST", headers, body: "y" })).status, 401);
  const { rows } = await db.pool.query(`SELECT principal FROM ${db.schema}.idempotency_keys`);
  assert.deepEqual(rows, [{ principal: "acme" }]);
});
