// Every adapter behind a real server, held to the same rules.

import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { serve } from "@hono/node-server";
import { Kit } from "@cronce/idempotency";
import { expressIdempotency, keepRawBody } from "@cronce/idempotency/express";
import { fastifyIdempotency } from "@cronce/idempotency/fastify";
import { honoIdempotency } from "@cronce/idempotency/hono";
import { nextIdempotency } from "@cronce/idempotency/next";
import type { PgTx } from "@cronce/idempotency/pg";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import { database, insert } from "../support/database.js";

const db = await database();

interface Order {
  operation: string;
  status?: number;
  fail?: boolean;
}

const bearer = (authorization: string | null | undefined) => authorization?.replace("Bearer ", "");

/** work stores an effect and says what is answered. */
async function work(tx: PgTx, order: Order): Promise<{ operation: string; effect: string }> {
  await tx.query(insert, [order.operation]);
  if (order.fail) {
    throw new Error("no luck");
  }
  return { operation: order.operation, effect: process.hrtime.bigint().toString() };
}

/** Each adapter starts a service with a kit of its own and returns its port. */
const adapters: Record<string, (kit: Kit<PgTx>) => Promise<Server | number>> = {
  async hono(kit) {
    const idempotent = honoIdempotency(kit, { principal: (c) => bearer(c.req.header("Authorization")) });
    const app = new Hono();
    app.onError((error, c) => c.text(error.message, 500));
    app.post(
      "/pay",
      idempotent({ scope: "hono" }, async (c) => {
        const order = await c.req.json<Order>();
        c.header("Location", "/payments/1");
        c.header("Set-Cookie", "session=1");
        return c.json(await work(c.var.tx, order), (order.status ?? 201) as 201);
      }),
    );
    return serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }) as Server;
  },
  async express(kit) {
    const idempotent = expressIdempotency(kit, { principal: (request) => bearer(request.headers.authorization) });
    const app = express();
    app.post("/pay", idempotent({ scope: "express" }, expressHandler));
    app.use(failed);
    return app.listen(0, "127.0.0.1");
  },
  async "express after a body parser"(kit) {
    const idempotent = expressIdempotency(kit, { principal: (request) => bearer(request.headers.authorization) });
    const app = express();
    app.use(express.json({ verify: keepRawBody }));
    app.post("/pay", idempotent({ scope: "parsed" }, expressHandler));
    app.use(failed);
    return app.listen(0, "127.0.0.1");
  },
  async fastify(kit) {
    const idempotent = fastifyIdempotency(kit, { principal: (request) => bearer(request.headers.authorization) });
    const app = fastify();
    app.post(
      "/pay",
      idempotent({ scope: "fastify" }, async (request, reply, tx) => {
        const order = request.body as Order;
        reply
          .code(order.status ?? 201)
          .header("Location", "/payments/1")
          .header("Set-Cookie", "session=1");
        return work(tx, order);
      }),
    );
    after(() => app.close());
    await app.listen({ port: 0, host: "127.0.0.1" });
    return (app.server.address() as AddressInfo).port;
  },
  async "fastify with reply.send"(kit) {
    const idempotent = fastifyIdempotency(kit, { principal: (request) => bearer(request.headers.authorization) });
    const app = fastify();
    app.post(
      "/pay",
      idempotent({ scope: "fastify-send" }, async (request, reply, tx) => {
        const order = request.body as Order;
        const done = await work(tx, order);
        reply
          .code(order.status ?? 201)
          .header("Location", "/payments/1")
          .header("Set-Cookie", "session=1")
          .send(done);
      }),
    );
    after(() => app.close());
    await app.listen({ port: 0, host: "127.0.0.1" });
    return (app.server.address() as AddressInfo).port;
  },
  async next(kit) {
    const idempotent = nextIdempotency(kit, { principal: (request) => bearer(request.headers.get("Authorization")) });
    const POST = idempotent<{ params: object }>({ scope: "next" }, async (request, tx) => {
      const order = (await request.json()) as Order;
      const headers = { Location: "/payments/1", "Set-Cookie": "session=1" };
      return Response.json(await work(tx, order), { status: order.status ?? 201, headers });
    });
    return createServer((incoming, outgoing) => void routeHandler(POST, incoming, outgoing)).listen(0, "127.0.0.1");
  },
};

async function expressHandler(request: express.Request, response: express.Response, tx: PgTx): Promise<void> {
  const order = request.body as Order;
  response
    .status(order.status ?? 201)
    .set("Location", "/payments/1")
    .cookie("session", "1");
  response.json(await work(tx, order));
}

const failed: express.ErrorRequestHandler = (error: Error, _request, response, _next) => {
  response.status(500).send(error.message);
};

/** routeHandler calls a route handler as Next.js does. */
async function routeHandler(
  POST: (request: Request, context: { params: object }) => Promise<Response>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    chunks.push(chunk);
  }
  const headers = new Headers(incoming.headers as Record<string, string>);
  const init = { method: incoming.method!, headers, body: Buffer.concat(chunks) };
  const response = await POST(new Request(`http://localhost${incoming.url}`, init), { params: {} }).catch(
    (error: Error) => new Response(error.message, { status: 500 }),
  );
  outgoing.writeHead(response.status, [...response.headers].flat());
  outgoing.end(Buffer.from(await response.arrayBuffer()));
}

for (const [name, start] of Object.entries(adapters)) {
  const kit = new Kit(db.store, { waitMs: 30_000, maxRequestBody: 200, logError: () => {} });
  const started = await start(kit);
  let port = started;
  if (typeof port !== "number") {
    const server = port;
    after(() => server.close().closeAllConnections());
    await new Promise<void>((resolve) => (server.listening ? resolve() : server.once("listening", resolve)));
    port = (server.address() as AddressInfo).port;
  }
  const call = (key: string | undefined, order: object, more: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${port}/pay?a=1`, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        Authorization: "Bearer alice",
        ...(key !== undefined && { "Idempotency-Key": key }),
        ...more,
      },
      body: JSON.stringify(order),
    });

  test(`${name}: a repetition gets the same bytes and headers, and one effect`, async () => {
    const order = { operation: `${name} one` };
    const first = await call("one", order);
    const again = await call("one", order);
    assert.equal(first.status, 201);
    assert.equal(again.status, 201);
    const body = await first.text();
    assert.equal(await again.text(), body);
    assert.equal((JSON.parse(body) as Order).operation, order.operation);
    assert.deepEqual(
      [first, again].map((r) => r.headers.get("Idempotent-Replayed")),
      [null, "true"],
    );
    assert.deepEqual(
      [first, again].map((r) => r.headers.get("Set-Cookie") !== null),
      [true, false],
    );
    for (const header of ["Content-Type", "Location", "Idempotency-Key-Expires"]) {
      assert.equal(again.headers.get(header), first.headers.get(header), header);
      assert.ok(again.headers.get(header), header);
    }
    assert.equal(await db.effects(order.operation), 1);
  });

  test(`${name}: of calls at once one works`, async () => {
    const order = { operation: `${name} storm` };
    const answers = await Promise.all(Array.from({ length: 30 }, () => call("storm", order)));
    assert.equal(new Set(await Promise.all(answers.map((a) => a.text()))).size, 1);
    assert.equal(await db.effects(order.operation), 1);
  });

  test(`${name}: refusals of the kit are problems with a code`, async () => {
    await call("two", { operation: `${name} two` });
    for (const [answer, status, code] of [
      [await call(undefined, {}), 400, "missing_idempotency_key"],
      [await call("two", { operation: "other" }), 409, "idempotency_key_payload_mismatch"],
      [await call("big", { operation: "x".repeat(300) }), 413, "request_too_large"],
      [await call("late", {}, { "Cronce-Send-Before": "2020-01-01T00:00:00Z" }), 412, "run_too_late"],
      [await call("who", {}, { Authorization: "" }), 401, "unidentified_caller"],
    ] as const) {
      assert.equal(answer.status, status, code);
      assert.equal(answer.headers.get("Content-Type")?.split(";")[0], "application/problem+json");
      assert.equal(((await answer.json()) as { code: string }).code, code);
    }
  });

  test(`${name}: failures are rolled back; final ones are stored`, async () => {
    for (const [status, replayed] of [
      [422, "true"],
      [503, null],
    ] as const) {
      const order = { operation: `${name} ${status}`, status };
      await call(`s${status}`, order);
      const again = await call(`s${status}`, order);
      assert.equal(again.status, status);
      assert.equal(again.headers.get("Idempotent-Replayed"), replayed);
      assert.equal(await db.effects(order.operation), 0);
    }
    const order = { operation: `${name} throws`, fail: true };
    for (let i = 0; i < 2; i++) {
      const answer = await call("throws", order);
      assert.equal(answer.status, 500);
      assert.match(await answer.text(), /no luck/);
      assert.equal(answer.headers.get("Idempotent-Replayed"), null);
    }
    assert.equal(await db.effects(order.operation), 0);
  });
}

test("express: a body parser that keeps nothing is told", async () => {
  const kit = new Kit(db.store, { logError: () => {} });
  const idempotent = expressIdempotency(kit, { principal: () => "alice" });
  const app = express();
  app.use(express.json());
  app.post("/pay", idempotent({ scope: "consumed" }, expressHandler));
  const server = app.listen(0, "127.0.0.1");
  after(() => server.close().closeAllConnections());
  await new Promise((resolve) => server.once("listening", resolve));
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/pay`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "Idempotency-Key": "k" },
    body: "{}",
  });
  assert.equal(answer.status, 500);
  assert.equal(((await answer.json()) as { code: string }).code, "request_body_consumed");
});
