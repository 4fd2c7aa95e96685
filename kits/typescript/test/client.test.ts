// The caller's side.

import assert from "node:assert/strict";
import { test } from "node:test";
import { isOutcome, KeyKeeper, memoryStorage, timeOf, uuidv7 } from "@cronce/idempotency/client";

test("a UUID of version 7 has its time first", () => {
  const uuid = uuidv7(0x017f22e279b0);
  assert.match(uuid, /^017f22e2-79b0-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(timeOf(uuid), 0x017f22e279b0);
  assert.notEqual(uuidv7(1), uuidv7(1));
});

test("an operation keeps its key until its outcome is known, over a restart", async () => {
  const storage = memoryStorage();
  const first = await new KeyKeeper({ storage }).pending("order-1");
  const keys = new KeyKeeper({ storage }); // the page was reloaded
  assert.deepEqual(await keys.pending("order-1"), first);
  assert.notEqual((await keys.pending("order-2")).key, first.key);
  await assert.rejects(keys.send("order-1", () => Promise.reject(new TypeError("fetch failed"))));
  await keys.send("order-1", async () => new Response(null, { status: 503 }));
  await keys.send("order-1", async ({ headers }) => {
    assert.equal(headers["Idempotency-Key"], first.key);
    return new Response(null, { status: 201 });
  });
  assert.notEqual((await keys.pending("order-1")).key, first.key);
});

test("callers at once get one key, also from a storage that takes its time", async () => {
  const memory = memoryStorage();
  const storage = {
    getItem: async (name: string) => memory.getItem(name),
    setItem: async (name: string, value: string) => memory.setItem(name, value),
    removeItem: async (name: string) => memory.removeItem(name),
  };
  const keys = new KeyKeeper({ storage });
  const drawn = await Promise.all(Array.from({ length: 10 }, () => keys.pending("order-1")));
  assert.equal(new Set(drawn.map((p) => p.key)).size, 1);
});

test("the service is told until when the operation is repeated", async () => {
  const { key, headers } = await new KeyKeeper({ repeatForMs: 1000 }).pending("a");
  assert.equal(Date.parse(headers["Cronce-Send-Before"]), timeOf(key) + 1000);
  assert.throws(() => new KeyKeeper({ repeatForMs: 0 }), TypeError);
});

test("only an outcome ends an operation", async () => {
  for (const status of [200, 201, 303, 400, 404, 410, 412, 413, 415, 422]) {
    assert.ok(isOutcome(status), String(status));
  }
  for (const status of [401, 403, 408, 409, 425, 429, 500, 502, 503, 504]) {
    assert.ok(!isOutcome(status), String(status));
  }
  const keys = new KeyKeeper();
  const { key } = await keys.pending("a");
  const mismatch = { code: "idempotency_key_payload_mismatch" };
  await keys.send("a", async () => Response.json(mismatch, { status: 422 }));
  assert.equal((await keys.pending("a")).key, key, "the key's first payload may have been done");
});
