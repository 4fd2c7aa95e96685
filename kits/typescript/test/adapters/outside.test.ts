// What stands around an adapter: compression, timeouts, and clients that go away.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import type { Server } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { after, test } from "node:test";
import * as timers from "node:timers/promises";
import { gunzipSync } from "node:zlib";
import { serve } from "@hono/node-server";
import { Kit, type OpenTx, type Store } from "@cronce/idempotency";
import { expressIdempotency } from "@cronce/idempotency/express";
import { honoIdempotency } from "@cronce/idempotency/hono";
import type { PgTx } from "@cronce/idempotency/pg";
import express, { type ErrorRequestHandler, type RequestHandler } from "express";
import { Hono } from "hono";
import { timeout } from "hono/timeout";
import { Wire } from "../contract/wire.js";
import { database, insert } from "../support/database.js";
import { later } from "../support/later.js";
import { eventually } from "../support/process.js";

const db = await database();
const compression = createRequire(import.meta.url)("compression") as () => RequestHandler;
const idempotent = expressIdempotency(new Kit(db.store), { principal: () => "alice" });
const large = "x".repeat(5_000);

const listen = (app: express.Express) => listening(app.listen(0, "127.0.0.1"));

async function listening(server: Server): Promise<number> {
  after(() => server.close().closeAllConnections());
  await new Promise<void>((resolve) => (server.listening ? resolve() : server.once("listening", resolve)));
  return (server.address() as AddressInfo).port;
}

test("compression around the adapter and inside of it: what is stored every client can read", async () => {
  const app = express();
  app.post(
    "/inside",
    idempotent({ scope: "inside" }, (request, response) => {
      void compression()(request, response, () => response.type("txt").send(large));
    }),
  );
  app.use(compression());
  app.post(
    "/around",
    idempotent({ scope: "around" }, (_request, response) => response.type("txt").send(large)),
  );
  const port = await listen(app);
  for (const [path, encoding] of [
    ["/inside", null],
    ["/around", "gzip"],
  ] as const) {
    for (const [accept, coded, replayed] of [
      ["gzip", encoding, null],
      ["gzip", encoding, "true"],
      ["identity", null, "true"],
    ] as const) {
      const wire = new Wire(port);
      wire.send(path, { "Idempotency-Key": path, "Accept-Encoding": accept });
      const { status, headers, body } = await wire.answer();
      wire.close();
      assert.deepEqual(
        [status, headers.get("content-encoding"), headers.get("idempotent-replayed"), wire.rest],
        [200, coded, replayed, ""],
      );
      assert.equal(coded === null ? body : gunzipSync(Buffer.from(body, "latin1")).toString(), large);
    }
  }
});

test("a client that goes away does not stop the work, and its repetition gets the reply", async () => {
  const begun = later<void>();
  const gone = later<void>();
  const app = express();
  app.use((request, _response, next) => {
    request.socket.once("close", () => gone.resolve());
    next();
  });
  app.post(
    "/pay",
    idempotent({ scope: "gone" }, async (_request, response, tx) => {
      begun.resolve();
      await gone.promise;
      await tx.query(insert, ["gone"]);
      response.write("pa");
      await new Promise((resolve) => response.end("id", () => resolve(undefined)));
    }),
  );
  const port = await listen(app);
  const client = connect(port, "127.0.0.1");
  client.on("error", () => {});
  client.write("POST /pay HTTP/1.1\r\nHost: shop.test\r\nIdempotency-Key: gone\r\nContent-Length: 2\r\n\r\n{}");
  await begun.promise;
  client.destroy();
  await eventually(async () => assert.equal(await db.effects("gone"), 1));
  const wire = new Wire(port);
  wire.send("/pay", { "Idempotency-Key": "gone" });
  const again = await wire.answer();
  wire.close();
  assert.deepEqual([again.status, again.headers.get("idempotent-replayed"), again.body], [200, "true", "paid"]);
  assert.equal(db.pool.totalCount - db.pool.idleCount, 0);
});

/** slowCommits is the store with commits that take their time. */
function slowCommits(ms: number): Store<PgTx> {
  const begin: Store<PgTx>["begin"] = async (claim, signal) => {
    const { open, status } = await db.store.begin(claim, signal);
    const commit: OpenTx<PgTx>["commit"] = async (...args) => {
      await timers.setTimeout(ms);
      return open.commit(...args);
    };
    return { status, open: { tx: open.tx, commit, rollback: (s) => open.rollback(s) } };
  };
  return new Proxy(db.store, {
    get: (target, name) => (name === "begin" ? begin : (Reflect.get(target, name) as unknown)),
  });
}

for (const [what, workMs, commitMs, status, effects] of [
  ["the work takes too long: its answer, and no effect", 2_000, 0, 504, 0],
  ["the commit takes too long: the stored answer", 0, 600, 201, 1],
] as const) {
  test(`hono/timeout around a route, and ${what}`, async () => {
    const kit = new Kit(slowCommits(commitMs), { logError: () => {} });
    const route = honoIdempotency(kit, { principal: () => "alice" });
    const app = new Hono().use(timeout(200)).post(
      "/pay",
      route({ scope: what }, async (c) => {
        await c.var.tx.query(insert, [what]);
        await timers.setTimeout(workMs);
        return c.text("paid", 201);
      }),
    );
    const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }) as Server;
    const wire = new Wire(await listening(server));
    wire.send("/pay", { "Idempotency-Key": "a" });
    const first = await wire.answer();
    assert.equal(first.status, status);
    assert.equal(await db.effects(what), effects);
    wire.send("/pay", { "Idempotency-Key": "a" });
    const again = await wire.answer();
    assert.deepEqual([again.status, again.body], [first.status, first.body]);
    assert.equal(again.headers.get("idempotent-replayed"), effects === 1 ? "true" : null);
    assert.equal(wire.rest, "");
    wire.close();
  });
}

test("middleware of Hono around a route that makes a success of a failure is answered with an error", async () => {
  const route = honoIdempotency(new Kit(db.store, { logError: () => {} }), { principal: () => "alice" });
  const app = new Hono();
  app.use(async (c, next) => {
    await next();
    c.res = Response.json({ status: c.res.status, data: await c.res.text() });
  });
  app.post(
    "/pay",
    route({ scope: "envelope" }, async (c) => {
      await c.var.tx.query(insert, ["envelope"]);
      return c.text("paid", c.req.query("ok") ? 201 : 422);
    }),
  );
  const port = await listening(serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }) as Server);
  const wire = new Wire(port);
  for (const [path, key, status, code] of [
    ["/pay", "declined", 500, "success_after_rollback"],
    ["/pay", "declined", 500, "success_after_rollback"], // stored
    ["/pay", "", 500, "success_after_rollback"],
    ["/pay?ok=1", "paid", 200, undefined],
    ["/pay?ok=1", "paid", 200, undefined],
  ] as const) {
    wire.send(path, { ...(key && { "Idempotency-Key": key }) });
    const answer = await wire.answer();
    assert.deepEqual([answer.status, (JSON.parse(answer.body) as { code?: string }).code], [status, code]);
  }
  wire.close();
  assert.equal(await db.effects("envelope"), 1);
});

test("middleware outside answers 408 while the work runs: at once, and nothing is committed", async () => {
  const app = express();
  app.use((_request, response, next) => {
    setTimeout(() => response.status(408).send("timeout"), 50);
    next();
  });
  app.post(
    "/pay",
    idempotent({ scope: "408" }, async (_request, response, tx) => {
      await tx.query(insert, ["408"]);
      await timers.setTimeout(1_000);
      response.send("paid");
    }),
  );
  const wire = new Wire(await listen(app));
  wire.send("/pay", { "Idempotency-Key": "a" });
  const { status, body } = await wire.answer();
  assert.deepEqual([status, body, await db.effects("408")], [408, "timeout", 0]);
  wire.close();
});

test("headers that middleware outside has set are as before after a rollback", async () => {
  const app = express();
  app.use((_request, response, next) => {
    response.setHeader("Set-Cookie", ["outside=1"]);
    next();
  });
  app.post(
    "/pay",
    idempotent({ scope: "cookies" }, (request, response) => {
      response.append("Set-Cookie", "inside=1");
      request.res!.append("Set-Cookie", "inside=2");
      throw new Error("no luck");
    }),
  );
  app.use(((_error, _request, response, _next) => response.status(500).send("failed")) as ErrorRequestHandler);
  const wire = new Wire(await listen(app));
  wire.send("/pay", { "Idempotency-Key": "a" });
  const { status, headers } = await wire.answer();
  assert.deepEqual([status, headers.get("set-cookie")], [500, "outside=1"]);
  wire.close();
});

test("bytes on the handle of a socket cannot be held: nothing is committed, and the connection is closed", async () => {
  const app = express();
  app.post(
    "/pay",
    idempotent({ scope: "handle" }, async (request, response, tx) => {
      await tx.query(insert, ["handle"]);
      const { _handle: handle } = request.res!.socket as unknown as { _handle: object };
      const { WriteWrap } = (process as unknown as { binding(name: string): { WriteWrap: new () => object } }).binding(
        "stream_wrap",
      );
      (handle as { writeLatin1String(done: object, text: string): void }).writeLatin1String(
        new WriteWrap(),
        "HTTP/1.1 ",
      );
      response.send("paid");
    }),
  );
  const wire = new Wire(await listen(app));
  wire.send("/pay", { "Idempotency-Key": "a" });
  await assert.rejects(wire.answer(), /closed after "HTTP\/1.1 "/);
  assert.equal(await db.effects("handle"), 0);
});

test("an old version of Hono reads forms", async () => {
  const { Hono: Hono46 } = createRequire(import.meta.url)("hono46") as { Hono: typeof Hono };
  const route = honoIdempotency(new Kit(db.store), { principal: () => "alice" });
  const app = new Hono46().post(
    "/pay",
    route({ scope: "form" }, async (c) => c.json([await c.req.parseBody(), (await c.req.formData()).get("cents")])),
  );
  const form = new FormData();
  form.set("cents", "100");
  for (const body of [form, new URLSearchParams({ cents: "100" })]) {
    const answer = await app.request("/pay", {
      method: "POST",
      headers: { "Idempotency-Key": String(body instanceof FormData) },
      body,
    });
    assert.deepEqual(await answer.json(), [{ cents: "100" }, "100"]);
  }
});
