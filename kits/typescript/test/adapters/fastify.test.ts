// Plugins of Fastify around the adapter.

import assert from "node:assert/strict";
import { Transform } from "node:stream";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";
import compress from "@fastify/compress";
import cookie from "@fastify/cookie";
import { Kit } from "@cronce/idempotency";
import { fastifyIdempotency } from "@cronce/idempotency/fastify";
import fastify from "fastify";
import { database, insert } from "../support/database.js";

const db = await database();
const idempotent = fastifyIdempotency(new Kit(db.store, { logError: () => {} }), { principal: () => "alice" });
const headers = (key: string) => ({ "Idempotency-Key": key, "Content-Type": "application/json" });

test("a global preParsing hook changes the body before it is compared", async () => {
  const app = fastify();
  after(() => app.close());
  app.addHook("preParsing", async (_request, _reply, payload) => {
    const upper = new Transform({
      transform: (chunk: Buffer, _encoding, done) => done(null, String(chunk).replace("100", "200")),
    });
    return payload.pipe(upper);
  });
  app.post(
    "/pay",
    idempotent({ scope: "hook" }, async (request, _reply, tx) => {
      await tx.query(insert, ["hook"]);
      return request.body;
    }),
  );
  for (const [payload, status] of [
    ['{"cents":100}', 200],
    ['{"cents":100}', 200],
    ['{"cents":999}', 409],
  ] as const) {
    const answer = await app.inject({ method: "POST", url: "/pay", headers: headers("a"), payload });
    assert.equal(answer.statusCode, status, answer.body);
    assert.equal(answer.json<{ cents?: number }>().cents, status === 200 ? 200 : undefined);
  }
  assert.equal(await db.effects("hook"), 1);
});

test("@fastify/compress unpacks requests, and leaves replies as they are stored", async () => {
  const app = fastify();
  after(() => app.close());
  await app.register(compress, { threshold: 0 });
  app.post(
    "/pay",
    idempotent({ scope: "compress" }, async (request) => request.body),
  );
  const answers = [];
  for (const encoding of ["gzip", undefined]) {
    const payload = encoding ? gzipSync('{"cents":100}') : '{"cents":100}';
    const more = { "Accept-Encoding": "gzip", ...(encoding && { "Content-Encoding": encoding }) };
    const answer = await app.inject({ method: "POST", url: "/pay", headers: { ...headers("a"), ...more }, payload });
    answers.push([answer.statusCode, answer.headers["content-encoding"], answer.body]);
  }
  assert.deepEqual(answers, [
    [200, undefined, '{"cents":100}'],
    [200, undefined, '{"cents":100}'],
  ]);
  const broken = { ...headers("b"), "Content-Encoding": "gzip" };
  const answer = await app.inject({ method: "POST", url: "/pay", headers: broken, payload: "{}" });
  assert.equal(answer.statusCode, 400);
});

test("cookies of rolled-back work are not on the answer", async () => {
  const app = fastify();
  after(() => app.close());
  await app.register(cookie);
  app.addHook("onRequest", async (_request, reply) => void reply.setCookie("outside", "1"));
  app.post(
    "/pay",
    idempotent({ scope: "cookie" }, async (request, reply, tx) => {
      await tx.query(insert, ["cookie"]);
      reply.setCookie("inside", "1");
      if ((request.body as { fail: boolean }).fail) {
        throw new Error("no luck");
      }
      return "paid";
    }),
  );
  for (const [fail, cookies] of [
    [true, ["outside"]],
    [false, ["outside", "inside"]],
  ] as const) {
    const answer = await app.inject({ method: "POST", url: "/pay", headers: headers(`${fail}`), payload: { fail } });
    assert.deepEqual(
      answer.cookies.map(({ name }) => name),
      cookies,
    );
  }
});
