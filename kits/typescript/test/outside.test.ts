// What stands around an adapter: compression, and clients that go away.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { connect, type AddressInfo } from "node:net";
import { after, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { Kit } from "@cronce/idempotency";
import { expressIdempotency } from "@cronce/idempotency/express";
import express, { type RequestHandler } from "express";
import { Wire } from "./contract/wire.js";
import { database, insert } from "./database.js";
import { later } from "./later.js";
import { eventually } from "./process.js";

const db = await database();
const compression = createRequire(import.meta.url)("compression") as () => RequestHandler;
const idempotent = expressIdempotency(new Kit(db.store), { principal: () => "alice" });
const large = "x".repeat(5_000);

async function listen(app: express.Express): Promise<number> {
  const server = app.listen(0, "127.0.0.1");
  after(() => server.close().closeAllConnections());
  await new Promise((resolve) => server.once("listening", resolve));
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
