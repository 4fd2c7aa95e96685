// Payloads that mean the same although their bytes differ.

import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { Kit } from "@cronce/idempotency";
import { KeyKeeper } from "@cronce/idempotency/client";
import { expressIdempotency, singlePrincipal } from "@cronce/idempotency/express";
import { fastifyIdempotency } from "@cronce/idempotency/fastify";
import { honoIdempotency } from "@cronce/idempotency/hono";
import multipart from "@fastify/multipart";
import express from "express";
import fastify from "fastify";
import { Hono, type Context } from "hono";
import { database, insert } from "../support/database.js";

const db = await database();
const kit = new Kit(db.store);
const options = { principal: singlePrincipal("shop") };

/** uploads are services that read a form as the README shows it. */
const uploads = {
  express: async () => {
    const app = express();
    app.post(
      "/upload",
      expressIdempotency(kit, options)({ scope: "express" }, async (request, response, tx) => {
        response.json(await effect(request.body as Buffer<ArrayBuffer>, request.headers["content-type"]!, tx));
      }),
    );
    const server = app.listen(0, "127.0.0.1");
    after(() => server.close());
    await new Promise((listening) => server.once("listening", listening));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/upload`;
  },
  fastify: async () => {
    const app = fastify();
    app.addContentTypeParser("multipart/form-data", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
    const handler = fastifyIdempotency(kit, options)({ scope: "fastify" }, (request, _reply, tx) =>
      effect(request.body as Buffer<ArrayBuffer>, request.headers["content-type"]!, tx),
    );
    app.post("/upload", handler);
    after(() => app.close());
    return `${await app.listen({ port: 0, host: "127.0.0.1" })}/upload`;
  },
};

async function effect(body: Buffer<ArrayBuffer>, type: string, tx: { query: typeof db.pool.query }): Promise<object> {
  const form = await new Response(body, { headers: { "Content-Type": type } }).formData();
  const file = form.get("file") as File;
  await tx.query(insert, [form.get("operation")]);
  return { operation: form.get("operation"), file: file.name, text: await file.text() };
}

for (const [name, start] of Object.entries(uploads)) {
  test(`${name}: a retry with a rebuilt form is the same upload, and another form is not`, async () => {
    const url = await start();
    const send = (text: string, headers: Record<string, string>) => {
      const body = new FormData(); // with a boundary of its own
      body.append("operation", `${name}-upload`);
      body.append("file", new Blob([text], { type: "text/plain" }), "a.txt");
      return fetch(url, { method: "POST", headers, body });
    };
    const keys = new KeyKeeper();
    const lost = keys.send("upload", async ({ headers }) => {
      assert.equal((await send("x", headers)).status, 200);
      throw new TypeError("fetch failed");
    });
    await assert.rejects(lost);
    const { headers } = await keys.pending("upload");
    assert.equal((await send("y", headers)).status, 409);
    const again = await keys.send("upload", ({ headers }) => send("x", headers));
    assert.equal(again.headers.get("Idempotent-Replayed"), "true");
    assert.deepEqual(await again.json(), { operation: `${name}-upload`, file: "a.txt", text: "x" });
    assert.equal(await db.effects(`${name}-upload`), 1);
    assert.notEqual((await keys.pending("upload")).key, headers["Idempotency-Key"], "the outcome is known");
  });
}

test("the case of a charset, and UTF-8 as the charset of JSON, make no other payload", async () => {
  const app = express();
  app.post(
    "/pay",
    expressIdempotency(kit, options)({ scope: "charset" }, async (request, response, tx) => {
      await tx.query(insert, [(request.body as { operation: string }).operation]);
      response.status(201).end();
    }),
  );
  const server = app.listen(0, "127.0.0.1");
  after(() => server.close());
  await new Promise((listening) => server.once("listening", listening));
  for (const kind of ["application/json", "application/json; charset=utf-8", "application/json;charset=UTF-8"]) {
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/pay`, {
      method: "POST",
      headers: { "Idempotency-Key": "charset", "Content-Type": kind },
      body: '{"operation":"charset"}',
    });
    assert.equal(response.status, 201, kind);
  }
  assert.equal(await db.effects("charset"), 1);
});

test("@fastify/multipart, which would find no file, is refused with what to do", async () => {
  const logged: unknown[][] = [];
  const app = fastify();
  await app.register(multipart);
  const idempotent = fastifyIdempotency(new Kit(db.store, { logError: (...line) => logged.push(line) }), options);
  app.post(
    "/upload",
    idempotent({ scope: "plugin" }, async (request) => ({ file: (await request.file())?.filename })),
  );
  after(() => app.close());
  const body = new FormData();
  body.append("file", new Blob(["x"]), "a.txt");
  const url = `${await app.listen({ port: 0, host: "127.0.0.1" })}/upload`;
  const answer = await fetch(url, { method: "POST", headers: { "Idempotency-Key": "plugin" }, body });
  assert.deepEqual([answer.status, ((await answer.json()) as { code: string }).code], [500, "request_body_consumed"]);
  assert.match(String((logged[0]![1] as { error: Error }).error), /register the route where the plugin is not/);
});

/** reads are ways in which a middleware of Hono reads a form, and whether its bytes are kept. */
const reads: [string, (c: Context) => Promise<unknown>, boolean][] = [
  ["parseBody", (c) => c.req.parseBody(), true],
  ["formData", (c) => c.req.formData(), false],
];
for (const [name, read, isKept] of reads) {
  test(`Hono: a form that middleware has read with ${name}`, async () => {
    const idempotent = honoIdempotency(new Kit(db.store, { logError: () => {} }), options);
    const before = async (c: Context, next: () => Promise<void>) => void (await read(c), await next());
    const app = new Hono().post("/pay", before, idempotent({ scope: name }), async (c) => {
      await c.var.tx.query(insert, [name]);
      return c.text(String((await c.req.parseBody())["cents"]));
    });
    const pay = (cents: string) =>
      app.request("/pay", {
        method: "POST",
        headers: { "Idempotency-Key": name },
        body: new URLSearchParams({ cents }),
      });
    const codes = [await pay("100"), await pay("100"), await pay("999")].map((answer) => answer.status);
    assert.deepEqual(codes, isKept ? [200, 200, 409] : [500, 500, 500]);
    assert.equal(await db.effects(name), isKept ? 1 : 0);
  });
}
