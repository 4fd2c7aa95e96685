// Events and calls to vendors, on a real PostgreSQL.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  EVENT_SCOPES,
  eventBridge,
  FinalError,
  hasCode,
  Kit,
  KitError,
  natsMessage,
  NotDone,
  purge,
  purgeHandler,
  sqsBatch,
  type Code,
  type Options,
} from "@cronce/idempotency";
import { fetchIdempotency, singlePrincipal } from "@cronce/idempotency/fetch";
import type { PgTx } from "@cronce/idempotency/pg";
import { database, insert } from "../support/database.js";
import { intercepted } from "../support/intercepted.js";
import { later } from "../support/later.js";

const db = await database();
const newKit = (options: Options = {}) => new Kit(db.store, { logError: () => {}, ...options });
const is = (code: Code) => (error: unknown) => hasCode(error, code);

test("an event is handled once, however often it is delivered", async () => {
  const kit = newKit({ ttlsMs: { [EVENT_SCOPES]: 30 * 24 * 3600 * 1000 } });
  const event = { id: "e-1", "detail-type": "order.placed.v1", detail: { order: 1 } };
  for (const duplicate of [false, true]) {
    const done = await kit.once(eventBridge(event, "commission"), async (tx) => {
      await tx.query(insert, ["commission"]);
      return { cents: 5 };
    });
    assert.deepEqual(done, { result: { cents: 5 }, duplicate });
  }
  const other = await kit.once(eventBridge(event, "mail"), async () => {});
  assert.equal(other.duplicate, false, "another handler does its own part");
  await assert.rejects(
    kit.once(eventBridge({ ...event, detail: { order: 2 } }, "commission"), async () => {}),
    is("idempotency_key_payload_mismatch"),
  );
  assert.equal(await db.effects("commission"), 1);
  const { rows } = await db.pool.query(
    "SELECT expires_at > now() + interval '29 days' AS long FROM idempotency_keys WHERE key = 'e-1'",
  );
  assert.deepEqual(rows, [{ long: true }, { long: true }]);
});

test("an error rolls back and leaves the key free; a final one is stored", async () => {
  const kit = newKit();
  const op = { scope: "event:a/b", key: "fails" };
  let fail = true;
  const work = () =>
    kit.once(op, async (tx) => {
      await tx.query(insert, ["fails"]);
      if (fail) {
        throw new Error("no luck");
      }
    });
  await assert.rejects(work(), /no luck/);
  fail = false;
  assert.equal((await work()).duplicate, false);
  assert.equal(await db.effects("fails"), 1);
  for (let n = 0; n < 2; n++) {
    const final = kit.once({ scope: "event:a/b", key: "final" }, async (tx) => {
      await tx.query(insert, ["final"]);
      throw new FinalError("declined");
    });
    await assert.rejects(final, (e) => e instanceof FinalError && e.message === "declined");
  }
  assert.equal(await db.effects("final"), 0);
});

test("a key whose work has sent a COMMIT is used up at once", async () => {
  const op = { scope: "event:a/b", key: "committed" };
  let again = 0;
  const work = newKit().once(op, async (tx) => {
    await tx.query("/**/ COMMIT");
    // As another process would.
    await newKit().once(op, async () => void again++);
  });
  await assert.rejects(work, is("transaction_ended_by_handler"));
  assert.equal(again, 0);
});

test("work that has sent a COMMIT and then throws is told both", async () => {
  const failure = new Error("no luck");
  const work = newKit().once({ scope: "event:a/b", key: "both" }, async (tx) => {
    await tx.query("/**/ COMMIT");
    throw failure;
  });
  await assert.rejects(work, (e) => is("transaction_ended_by_handler")(e) && (e as KitError).cause === failure);
});

test("a key whose work has sent a ROLLBACK is used up although the store fails meanwhile", async () => {
  const op = { scope: "event:a/b", key: "hiccup" };
  let begins = 0;
  const failing = intercepted(db.store, "begin", async (begin) => {
    if (++begins === 2 || begins === 3) {
      throw new KitError("idempotency_store_unavailable", "no connection");
    }
    return begin();
  });
  for (const kit of [new Kit(failing, { logError: () => {} }), newKit()]) {
    const work = kit.once(op, async (tx) => {
      await tx.query("/**/ ROLLBACK");
      await tx.query(insert, ["hiccup"]); // is committed by itself
    });
    await assert.rejects(work, is("transaction_ended_by_handler"));
  }
  assert.equal(await db.effects("hiccup"), 1);
});

test("of a batch only what failed comes back", async () => {
  const kit = newKit();
  const body = (id: string, order: number) => JSON.stringify({ id, "detail-type": "order.paid.v1", detail: { order } });
  const records = [
    { messageId: "m-1", body: body("e-1", 1) },
    { messageId: "m-2", body: body("e-1", 1) },
    { messageId: "m-3", body: body("e-2", 2) },
    { messageId: "m-4", body: body("e-1", 3) },
    { messageId: "m-5", body: "no JSON" },
    { messageId: "m-6", body: "{}" },
  ];
  for (let n = 0; n < 2; n++) {
    const answer = await sqsBatch<PgTx, { order: number }>(kit, "payout", records, async (tx, event) => {
      await tx.query(insert, ["payout"]);
      assert.ok(event.detail.order > 0);
    });
    assert.deepEqual(
      answer.batchItemFailures.map((f) => f.itemIdentifier),
      ["m-4", "m-5", "m-6"],
    );
  }
  assert.equal(await db.effects("payout"), 2);
});

test("in a FIFO queue nothing overtakes a failed message of its group", async () => {
  const eventSourceARN = "arn:aws:sqs:eu-central-1:1:orders.fifo";
  const record = (messageId: string, MessageGroupId: string, broken = false) => ({
    messageId,
    body: broken ? "no JSON" : JSON.stringify({ id: messageId, "detail-type": "order.moved.v1", detail: {} }),
    attributes: { MessageGroupId },
  });
  const records = [record("f-1", "a"), record("f-2", "a", true), record("f-3", "b"), record("f-4", "a")];
  for (const [queue, failed, done] of [
    [{ eventSourceARN }, ["f-2", "f-4"], ["f-1", "f-3"]],
    [{ eventSourceARN: "arn:aws:sqs:eu-central-1:1:orders" }, ["f-2"], ["f-4"]], // groups order nothing there
  ] as const) {
    const logged: unknown[][] = [];
    const handled: string[] = [];
    const kit = newKit({ logError: (...line) => logged.push(line) });
    const batch = records.map((r) => ({ ...r, ...queue }));
    const answer = await sqsBatch(kit, "move", batch, async (_tx, event) => void handled.push(event.id));
    assert.deepEqual(
      answer.batchItemFailures.map((f) => f.itemIdentifier),
      failed,
    );
    assert.deepEqual(handled, done);
    assert.equal(logged.length, 1, "each failure is logged");
    assert.match(JSON.stringify(logged), /event failed.*"messageId":"f-2"/);
  }
});

test("a message of JetStream is named by its publisher", async () => {
  const headers = { get: (name: string) => (name === "Nats-Msg-Id" ? "n-1" : "") };
  const op = natsMessage({ data: Buffer.from('{"a":1}'), headers }, "order.placed.v1", "mail");
  assert.equal(op.key, "n-1");
  assert.equal(op.scope, "event:order.placed.v1/mail");
  assert.throws(() => natsMessage({ data: Buffer.from("") }, "a", "b"), /Nats-Msg-Id/);
});

test("a vendor is called once, and its result is remembered", async () => {
  const kit = newKit();
  const keys = new Set<string>();
  let calls = 0;
  for (const duplicate of [false, true]) {
    const done = await kit.callOnce(
      { scope: "vendor:mail", key: "v-1" },
      {
        do: async ({ vendorKey }) => {
          keys.add(vendorKey);
          return { id: ++calls };
        },
      },
    );
    assert.deepEqual(done, { result: { id: 1 }, duplicate });
  }
  assert.equal(calls, 1);
  assert.match([...keys][0]!, /^[0-9a-f]{32}$/);
});

test("a call whose outcome is unknown is not repeated before it is reconciled", async () => {
  const kit = newKit();
  const op = { scope: "vendor:mail", key: "v-2" };
  let calls = 0;
  const effect = {
    do: async () => {
      calls++;
      throw new Error("the answer was lost");
    },
  };
  await assert.rejects(kit.callOnce(op, effect), is("idempotency_outcome_unknown"));
  await assert.rejects(kit.callOnce(op, effect), is("idempotency_outcome_unknown"));
  assert.equal(calls, 1);
  await assert.rejects(
    kit.callOnce(op, { ...effect, reconcile: () => Promise.reject(new NotDone("no answer either")) }),
    is("idempotency_outcome_unknown"),
  );
  const found = await kit.callOnce<string>(op, {
    do: () => Promise.reject(new Error("not again")),
    reconcile: async () => ({ done: true, result: "sent" }),
  });
  assert.deepEqual(found, { result: "sent", duplicate: true });
});

test("work cannot pass a transaction of its own off as the kit's by a savepoint", async () => {
  const work = () =>
    newKit().once({ scope: "disguise", key: "1" }, async (tx) => {
      await tx.query("SELECT 1; ROLLBACK");
      await tx.query(insert, ["disguise"]); // is committed by itself
      await tx.query("/**/ BEGIN");
      await tx.query("SAVEPOINT idempotent_work");
      throw new Error("no luck");
    });
  await assert.rejects(work, is("transaction_ended_by_handler"));
  await assert.rejects(work, is("transaction_ended_by_handler"));
  assert.equal(await db.effects("disguise"), 1);
});

test("a call that was certainly not made leaves the key free", async () => {
  const kit = newKit();
  const op = { scope: "vendor:mail", key: "v-3" };
  await assert.rejects(kit.callOnce(op, { do: () => Promise.reject(new NotDone("refused")) }), NotDone);
  assert.deepEqual(await kit.callOnce(op, { do: async () => 1 }), { result: 1, duplicate: false });
});

for (const [clocks, monotonic, wall] of [
  ["the wall clock is set back", 60_000, -3_600_000],
  ["the monotonic clock stands still", 0, 60_000],
] as const) {
  test(`a vendor is not called after the lease has lapsed and ${clocks}`, async (t) => {
    const op = { scope: "vendor:clock", key: clocks };
    const stalled = intercepted(db.store, "reserve", async (reserve) => {
      const status = await reserve();
      const [m, w] = [performance.now() + monotonic, Date.now() + wall];
      t.mock.method(performance, "now", () => m);
      t.mock.method(Date, "now", () => w);
      return status;
    });
    let calls = 0;
    const effect = { do: async () => ++calls };
    const call = new Kit(stalled, { logError: () => {}, maxRunMs: 5_000 }).callOnce(op, effect);
    await assert.rejects(call, is("idempotency_store_unavailable"));
    assert.equal(calls, 0);
    assert.equal((await newKit().callOnce(op, effect)).result, 1, "the key is free");
  });
}

test("a call in flight holds its key against other processes", async () => {
  const op = { scope: "vendor:mail", key: "v-4" };
  const begun = later<void>();
  const go = later<number>();
  const first = newKit().callOnce(op, {
    do: () => {
      begun.resolve();
      return go.promise;
    },
  });
  await begun.promise;
  await assert.rejects(newKit({ waitMs: 0 }).callOnce(op, { do: async () => 2 }), is("idempotency_key_in_progress"));
  go.resolve(1);
  assert.equal((await first).result, 1);
});

test("a key that work in another process holds is in progress for a call and for long work", async () => {
  const op = { scope: "vendor:mail", key: "v-6" };
  const begun = later<void>();
  const go = later<void>();
  const first = newKit().once(op, async () => {
    begun.resolve();
    await go.promise;
  });
  await begun.promise;
  const impatient = newKit({ waitMs: 0, storeTimeoutMs: 3_000 });
  await assert.rejects(impatient.callOnce(op, { do: async () => 2 }), is("idempotency_key_in_progress"));
  const accept = fetchIdempotency(impatient, { principal: singlePrincipal("-") }).accept({ scope: op.scope }, () => {});
  const headers = { "Idempotency-Key": op.key };
  assert.equal((await accept(new Request("http://a.test/", { method: "POST", headers }))).status, 409);
  go.resolve();
  await first;
});

test("a lease that has lapsed makes the outcome unknown, and a reconcile may find that nothing was done", async () => {
  const op = { scope: "vendor:mail", key: "v-5" };
  // What a process leaves behind that died after it reserved the key.
  await db.pool.query(
    `INSERT INTO idempotency_keys (scope, principal, key, request_hash, state, owner, locked_until, created_at)
     VALUES ($1, '-', $2, 'v1:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', 'calling', 'dead', now() - interval '1 s', now())`,
    [op.scope, op.key],
  );
  await assert.rejects(newKit().callOnce(op, { do: async () => 1 }), is("idempotency_outcome_unknown"));
  const done = await newKit().callOnce(op, { do: async () => 7, reconcile: async () => ({ done: false }) });
  assert.deepEqual(done, { result: 7, duplicate: false });
});

test("a purge removes what has expired, in batches, and nothing else", async () => {
  const kit = newKit();
  await db.pool
    .query(`INSERT INTO idempotency_keys (scope, principal, key, request_hash, state, owner, created_at, expires_at)
    SELECT 'purge:' || i % 2, '-', i::text, 'h', 'done', 'o', now(), now() + (CASE WHEN i <= 250 THEN '-1 s' ELSE '1 h' END)::interval
    FROM generate_series(1, 300) i`);
  const handler = purgeHandler(kit);
  const post = async (query: string) => handler(new Request(`http://a.test/purge${query}`, { method: "POST" }));
  assert.deepEqual(await (await post("?scope=purge:1&dryRun=true")).json(), {
    deleted: 125,
    scopes: [{ scope: "purge:1", deleted: 125 }],
    done: true,
    dryRun: true,
  });
  assert.equal((await post("?dryrun=true")).status, 400);
  assert.equal((await handler(new Request("http://a.test/purge"))).status, 405);
  assert.deepEqual(await purge(kit, { batch: 100, share: 1 }), {
    deleted: 250,
    scopes: [
      { scope: "purge:0", deleted: 125 },
      { scope: "purge:1", deleted: 125 },
    ],
    done: true,
  });
  const { rows } = await db.pool.query("SELECT count(*)::int AS n FROM idempotency_keys WHERE scope LIKE 'purge:%'");
  assert.equal(rows[0].n, 50);
});

test("ready says what is wrong with the table", async () => {
  await newKit().ready();
  const { PgStore } = await import("@cronce/idempotency/pg");
  await assert.rejects(new Kit(new PgStore(db.pool, { schema: "nowhere" })).ready(), /create it/);
  await db.pool.query("ALTER TABLE idempotency_keys ADD id bigint GENERATED ALWAYS AS IDENTITY"); // a column of one's own
  await newKit().ready();
});

test("options that contradict themselves are refused", () => {
  for (const options of [
    { ttlMs: -1 },
    { maxRunMs: 0 },
    { ttlsMs: { a: 0 } },
    { mismatchStatus: 400 as 409 },
    { maxReplyBody: -1 },
  ]) {
    assert.throws(() => newKit(options), TypeError);
  }
});

test("a key that long work of another service holds is in flight", async () => {
  const op = { scope: "long", key: "1" };
  for (const lease of ["1 h", "-1 s"]) {
    await db.pool.query(
      `INSERT INTO idempotency_keys (scope, principal, key, request_hash, state, owner, locked_until, created_at, expires_at)
       VALUES ($1, '-', $2, 'v1:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', 'accepted', 'other',
               now() + $3::interval, now(), now() + interval '1 day')`,
      [op.scope, op.key, lease],
    );
    await assert.rejects(
      newKit({ waitMs: 0 }).once(op, async () => {}),
      is("idempotency_key_in_progress"),
    );
    await db.pool.query("DELETE FROM idempotency_keys WHERE scope = 'long'");
  }
});
