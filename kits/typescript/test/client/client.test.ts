// The caller's side.

import assert from "node:assert/strict";
import { test } from "node:test";
import { isOutcome, KeyKeeper, memoryStorage, timeOf, uuidv7 } from "@cronce/idempotency/client";
import { later } from "../support/later.js";

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
  const one = new KeyKeeper({ storage });
  for (const keeper of [() => one, () => new KeyKeeper({ storage })]) {
    memory.removeItem("idempotency-key:order-1");
    const drawn = await Promise.all(Array.from({ length: 10 }, () => keeper().pending("order-1")));
    assert.equal(new Set(drawn.map((p) => p.key)).size, 1);
  }
});

test("an answer ends its own operation, and not the next one of the same name", async () => {
  const keys = new KeyKeeper();
  const done = () => new Response(null, { status: 201 });
  const slow = later<Response>();
  const first = keys.send("top-up", async () => done());
  const doubleClick = keys.send("top-up", () => slow.promise);
  await first;
  const next = await keys.pending("top-up");
  slow.resolve(done());
  await doubleClick;
  assert.equal((await keys.pending("top-up")).key, next.key);
});

test("the service is told until when the operation is repeated", async () => {
  const { key, headers } = await new KeyKeeper({ repeatForMs: 1000 }).pending("a");
  assert.equal(Date.parse(headers["Cronce-Send-Before"]), timeOf(key) + 1000);
  assert.throws(() => new KeyKeeper({ repeatForMs: 0 }), TypeError);
});

const hour = 3600_000;

test("keys that live no longer than the caller repeats are refused", async () => {
  assert.throws(() => new KeyKeeper({ repeatForMs: hour, ttlMs: hour }), /make repeatForMs shorter/);
  assert.throws(() => new KeyKeeper({ repeatForMs: 25 * hour }), /keeps keys for 86400000 ms/);
  const answer = (ttl: number, headers: Record<string, string> = {}) => {
    const now = Math.floor(Date.now() / 1000) * 1000;
    const times = { Date: new Date(now).toUTCString(), "Idempotency-Key-Expires": new Date(now + ttl).toISOString() };
    return async () => new Response(null, { status: 201, headers: { ...times, ...headers } });
  };
  const keys = new KeyKeeper();
  const unfinished = await keys.pending("begun");
  await keys.send("long enough", answer(20 * hour));
  await keys.send("replayed after a while", answer(hour, { "Idempotent-Replayed": "true" }));
  assert.equal((await keys.send("short", answer(hour))).status, 201, "the answer is not lost");
  await assert.rejects(keys.send("next", answer(hour)), /keeps keys for 3600000 ms/);
  assert.deepEqual(await keys.pending("begun"), unfinished, "what has begun keeps its key");
});

test("too late is no outcome once the key may have expired", async () => {
  const storage = memoryStorage();
  const keys = new KeyKeeper({ storage });
  for (const [name, age, kept] of [
    ["young", 13 * hour, false],
    ["old", 24 * hour, true],
  ] as const) {
    const key = uuidv7(Date.now() - age);
    storage.setItem(`idempotency-key:${name}`, key);
    await keys.send(name, async () => new Response(null, { status: 412 }));
    assert.equal((await keys.pending(name)).key === key, kept, name);
  }
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
  const read = await keys.send("b", async () => {
    const response = Response.json({}, { status: 404 });
    await response.text();
    return response;
  });
  assert.equal(read.status, 404, "the caller may read the body first");
});

test("after a call without an outcome only the service's own answer or a success ends an operation", async () => {
  const own = { "Idempotency-Key-Expires": new Date(Date.now() + 24 * hour).toISOString() };
  const before: Record<string, () => Promise<Response>> = {
    "no answer": () => Promise.reject(new TypeError("fetch failed")),
    "a 503": async () => new Response(null, { status: 503 }),
    "a reload": () => new Promise(() => {}), // nobody is left to hear the answer
  };
  for (const [name, call] of Object.entries(before)) {
    for (const [response, kept] of [
      [() => new Response("no such route", { status: 404 }), true], // of an ingress, during a deploy
      [() => new Response(null, { status: 302 }), true],
      [() => Response.json({ code: "request_too_large" }, { status: 413 }), true], // says nothing of the first call
      [() => new Response("no such order", { status: 404, headers: own }), false],
      [() => new Response(null, { status: 410, headers: { "Idempotent-Replayed": "true" } }), false],
      [() => Response.json({ code: "run_too_late" }, { status: 412 }), false],
      [() => new Response(null, { status: 412 }), true],
      [() => new Response(null, { status: 201 }), false],
    ] as const) {
      const storage = memoryStorage();
      void new KeyKeeper({ storage }).send("a", call).catch(() => {});
      await new Promise(setImmediate);
      const keys = new KeyKeeper({ storage });
      const { key } = await keys.pending("a");
      const { status } = await keys.send("a", async () => response());
      assert.equal((await keys.pending("a")).key === key, kept, `${status} after ${name}`);
    }
  }
});

test("long work ends with its stored answer, not with the 202s before it", async () => {
  const expires = { "Idempotency-Key-Expires": new Date(Date.now() + 24 * hour).toISOString() };
  const working = () => new Response('{"progress":null}', { status: 202, headers: { "Retry-After": "10" } });
  for (const last of [
    new Response(null, { status: 200, headers: expires }),
    new Response(null, { status: 202, headers: { ...expires, "Retry-After": "10" } }), // a stored one is of no long work
    new Response(null, { status: 202 }), // of a service without the kit, which only takes the operation
  ]) {
    const keys = new KeyKeeper();
    const { key } = await keys.pending("a");
    for (let i = 0; i < 2; i++) {
      await keys.send("a", async () => working());
      assert.equal((await keys.pending("a")).key, key, "the work goes on");
    }
    await keys.send("a", async () => last);
    assert.notEqual((await keys.pending("a")).key, key, `${last.status}`);
  }
});
