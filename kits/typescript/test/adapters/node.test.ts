// The adapter for node:http by itself: errors, bodies that were read before, pipelined requests.

import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { Kit } from "@cronce/idempotency";
import { keepRawBody, nodeIdempotency } from "@cronce/idempotency/node";
import { Wire } from "../contract/wire.js";
import { database, insert } from "../support/database.js";
import { later } from "../support/later.js";

const db = await database();
const kit = new Kit(db.store, { logError: () => {} });
const idempotent = nodeIdempotency(kit, { principal: () => "alice" });

async function listen(listener: RequestListener): Promise<number> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  after(() => server.close().closeAllConnections());
  await new Promise((resolve) => server.once("listening", resolve));
  return (server.address() as AddressInfo).port;
}

const post = (port: number, key: string, body: string) =>
  fetch(`http://127.0.0.1:${port}/`, { method: "POST", headers: { "Idempotency-Key": key }, body });
const codeOf = async (answer: Response) => ((await answer.json()) as { code: string }).code;

test("a listener by itself answers what its handler throws", async () => {
  const handler = async (_request: IncomingMessage, response: ServerResponse, tx: typeof db.pool, body: Uint8Array) => {
    await tx.query(insert, ["json"]);
    response.end(String((JSON.parse(Buffer.from(body).toString()) as { cents: number }).cents));
  };
  const port = await listen(idempotent({ scope: "json" }, handler as never));
  for (let n = 0; n < 2; n++) {
    const answer = await post(port, "a", "{");
    assert.equal(answer.status, 500);
    assert.equal(await codeOf(answer), "handler_failed");
  }
  assert.equal(await db.effects("json"), 0);
  assert.equal(await (await post(port, "a", '{"cents":1}')).text(), "1");
});

test("a read that throws after a part of its answer breaks it off", async () => {
  const port = await listen(
    idempotent({ scope: "read" }, (_request, response) => {
      response.writeHead(200, { "Content-Length": 4 }).write("ha");
      throw new Error("no luck");
    }),
  );
  const wire = new Wire(port);
  wire.write("GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n");
  await assert.rejects(wire.answer(), /closed after/);
});

test("onError answers, or hands the error on", async () => {
  const heard = later<unknown>();
  const own = nodeIdempotency(kit, {
    principal: () => "alice",
    onError: (error) => {
      throw error;
    },
  });
  const route = own({ scope: "own" }, () => {
    throw new Error("no luck");
  });
  const port = await listen((request, response) => {
    route(request, response).catch((error: Error) => {
      heard.resolve(error.message);
      response.writeHead(502).end(error.message);
    });
  });
  const answer = await post(port, "a", "{}");
  assert.deepEqual([answer.status, await answer.text(), await heard.promise], [502, "no luck", "no luck"]);
});

test("a body that was read before is refused, and one that was kept is compared", async () => {
  let kept = false;
  const route = idempotent({ scope: "consumed" }, async (_request, response, tx) => {
    await tx.query(insert, ["consumed"]);
    response.end("paid");
  });
  const port = await listen(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) {
      chunks.push(chunk);
    }
    if (kept) {
      keepRawBody(request, response, Buffer.concat(chunks));
    }
    void route(request, response);
  });
  for (const body of ['{"cents":100}', '{"cents":999}']) {
    const answer = await post(port, "a", body);
    assert.deepEqual([answer.status, await codeOf(answer)], [500, "request_body_consumed"]);
  }
  assert.equal(await db.effects("consumed"), 0);
  assert.equal(await (await post(port, "empty", "")).text(), "paid");
  kept = true;
  assert.equal(await (await post(port, "a", '{"cents":100}')).text(), "paid");
  assert.equal(await codeOf(await post(port, "a", '{"cents":999}')), "idempotency_key_payload_mismatch");
});

test("work waits for the answers before it on its connection", async () => {
  const go = later<void>();
  const begun: unknown[] = [];
  const route = idempotent({ scope: "turn" }, (request, response) => {
    begun.push(request.headers["idempotency-key"]);
    response.end("paid");
  });
  const port = await listen((request, response) => {
    if (request.url === "/slow") {
      void go.promise.then(() => response.end("slow"));
    } else {
      void route(request, response);
    }
  });
  const wire = new Wire(port);
  wire.write("GET /slow HTTP/1.1\r\nHost: shop.test\r\n\r\n");
  wire.send("/", { "Idempotency-Key": "a" });
  await post(port, "b", "{}");
  assert.deepEqual(begun, ["b"], "the work of a pipelined request began early");
  go.resolve();
  assert.equal((await wire.answer()).body, "slow");
  assert.equal((await wire.answer()).body, "paid");
  assert.deepEqual(begun, ["b", "a"]);
  wire.close();
});
