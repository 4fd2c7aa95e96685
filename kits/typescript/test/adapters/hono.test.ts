// The kit behind Hono, on a real PostgreSQL: what the Go kit's contract says of a handler.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Kit, type Options } from "@cronce/idempotency";
import { honoIdempotency } from "@cronce/idempotency/hono";
import { Hono } from "hono";
import { cors } from "hono/cors";
import { database, insert } from "../support/database.js";
import { later } from "../support/later.js";

const db = await database();

interface Call {
  key?: string;
  body?: unknown;
  headers?: Record<string, string>;
  path?: string;
  caller?: string;
}

function service(options: Options = {}) {
  const logged: unknown[] = [];
  const kit = new Kit(db.store, { logError: (...line) => logged.push(line), ...options });
  const idempotent = honoIdempotency(kit, {
    principal: (c) => c.req.header("Authorization")?.replace("Bearer ", ""),
  });
  const app = new Hono();
  const call = ({ key, body, headers, path = "/pay", caller = "alice" }: Call) =>
    app.request(path, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        ...(caller && { Authorization: `Bearer ${caller}` }),
        ...(key !== undefined && { "Idempotency-Key": key }),
        ...headers,
      },
      body: typeof body === "string" ? body : JSON.stringify(body ?? {}),
    });
  return { kit, app, idempotent, call, logged };
}

/** paying is a service whose handler stores an effect and answers as the request says. */
function paying(options: Options = {}) {
  const s = service(options);
  s.app.post(
    "/pay",
    s.idempotent({ scope: "pay" }, async (c) => {
      const { operation, status } = await c.req.json<{ operation: string; status?: number }>();
      await c.var.tx.query(insert, [operation]);
      c.header("Set-Cookie", "session=1");
      c.header("Location", "/payments/1");
      return c.json({ operation, at: process.hrtime.bigint().toString() }, (status ?? 201) as 201);
    }),
  );
  return s;
}

async function code(response: Response): Promise<string> {
  assert.equal(response.headers.get("Content-Type"), "application/problem+json");
  return ((await response.json()) as { code: string }).code;
}

test("a repetition gets the same bytes, and one effect", async () => {
  const s = paying();
  const first = await s.call({ key: "a-1", body: { operation: "a" } });
  const again = await s.call({ key: '"a-1"', body: '{ "operation" : "a" }' });
  assert.equal(first.status, 201);
  assert.equal(again.status, 201);
  assert.equal(await again.text(), await first.text());
  assert.equal(first.headers.get("Idempotent-Replayed"), null);
  assert.equal(again.headers.get("Idempotent-Replayed"), "true");
  assert.equal(again.headers.get("Location"), "/payments/1");
  assert.equal(first.headers.get("Set-Cookie"), "session=1");
  assert.equal(again.headers.get("Set-Cookie"), null);
  assert.equal(again.headers.get("Content-Type"), first.headers.get("Content-Type"));
  assert.equal(again.headers.get("Idempotency-Key-Expires"), first.headers.get("Idempotency-Key-Expires"));
  const lives = Date.parse(again.headers.get("Idempotency-Key-Expires")!) - Date.now();
  assert.ok(Math.abs(lives - 86_400_000) < 600_000, `the key lives ${lives} ms`);
  assert.equal(await db.effects("a"), 1);
});

test("of a storm one call works and all get its answer", async () => {
  const s = paying({ waitMs: 60_000 });
  const answers = await Promise.all(
    Array.from({ length: 200 }, () => s.call({ key: "storm", body: { operation: "storm" } })),
  );
  const bodies = new Set(await Promise.all(answers.map((a) => a.text())));
  assert.equal(bodies.size, 1);
  assert.equal(answers.filter((a) => a.headers.get("Idempotent-Replayed") === null).length, 1);
  assert.equal(await db.effects("storm"), 1);
  assert.equal(s.kit.http.runner.gate.size, 0, "the gate remembers a key");
});

test("another payload is refused", async () => {
  const s = paying();
  await s.call({ key: "m", body: { operation: "m" } });
  const other = await s.call({ key: "m", body: { operation: "m", more: 1 } });
  assert.equal(other.status, 409);
  assert.equal(await code(other), "idempotency_key_payload_mismatch");
  const strict = paying({ mismatchStatus: 422 });
  assert.equal((await strict.call({ key: "m", body: {} })).status, 422);
  assert.equal(await db.effects("m"), 1);
});

test("keys of two principals never meet", async () => {
  const s = paying();
  await s.call({ key: "p", body: { operation: "p" } });
  const other = await s.call({ key: "p", body: { operation: "p" }, caller: "bob" });
  assert.equal(other.headers.get("Idempotent-Replayed"), null);
  assert.equal(await db.effects("p"), 2);
  const nobody = await s.call({ key: "p", body: { operation: "p" }, caller: "" });
  assert.equal(nobody.status, 401);
  assert.equal(await code(nobody), "unidentified_caller");
});

test("what names the call must be right", async () => {
  const s = paying({ maxRequestBody: 50 });
  for (const [call, status, want] of [
    [{}, 400, "missing_idempotency_key"],
    [{ key: "a b" }, 400, "invalid_idempotency_key"],
    [{ key: "a, b" }, 400, "invalid_idempotency_key"],
    [{ key: "x".repeat(129) }, 400, "invalid_idempotency_key"],
    [{ key: "k", headers: { "Cronce-Send-Before": "tomorrow" } }, 400, "invalid_idempotency_request"],
    [{ key: "k", headers: { "Cronce-Send-Before": "2026-02-30T00:00:00Z" } }, 400, "invalid_idempotency_request"],
    [{ key: "k", body: { operation: "x".repeat(60) } }, 413, "request_too_large"],
  ] as const) {
    const answer = await s.call(call);
    assert.equal(answer.status, status, want);
    assert.equal(await code(answer), want);
  }
});

test("a late call starts no work, and learns of work that is done", async () => {
  const s = paying();
  const late = { "Cronce-Send-Before": "2020-01-01T00:00:00.123456+01:00" };
  const refused = await s.call({ key: "late", body: { operation: "late" }, headers: late });
  assert.equal(refused.status, 412);
  assert.equal(await code(refused), "run_too_late");
  assert.equal(await db.effects("late"), 0);
  await s.call({ key: "late", body: { operation: "late" }, headers: { "Cronce-Send-Before": "2999-01-01T00:00:00Z" } });
  const stored = await s.call({ key: "late", body: { operation: "late" }, headers: late });
  assert.equal(stored.status, 201);
  assert.equal(await db.effects("late"), 1);
});

test("a final refusal is stored without its writes; what may pass leaves the key free", async () => {
  const s = paying();
  for (const status of [400, 404, 410, 413, 415, 422]) {
    const body = { operation: "refused", status };
    await s.call({ key: `refused-${status}`, body });
    const again = await s.call({ key: `refused-${status}`, body });
    assert.equal(again.status, status);
    assert.equal(again.headers.get("Idempotent-Replayed"), "true");
  }
  for (const status of [401, 403, 409, 429, 500, 503]) {
    const body = { operation: "refused", status };
    await s.call({ key: `released-${status}`, body });
    const again = await s.call({ key: `released-${status}`, body });
    assert.equal(again.status, status);
    assert.equal(again.headers.get("Idempotent-Replayed"), null);
  }
  assert.equal(await db.effects("refused"), 0);
});

test("an error of the handler rolls back, leaves the key free and reaches the error handler", async () => {
  const s = service();
  let fail = true;
  s.app.onError((error, c) => c.text(error.message, 500));
  s.app.post(
    "/pay",
    s.idempotent({ scope: "throws" }, async (c) => {
      await c.var.tx.query(insert, ["throws"]);
      if (fail) {
        throw new Error("no luck");
      }
      return c.body(null, 204);
    }),
  );
  const first = await s.call({ key: "t" });
  assert.equal(await first.text(), "no luck");
  fail = false;
  const again = await s.call({ key: "t" });
  assert.equal(again.status, 204);
  assert.equal((await s.call({ key: "t" })).headers.get("Idempotent-Replayed"), "true");
  assert.equal(await db.effects("throws"), 1);
});

test("a call in flight is answered 409 with Retry-After after the wait", async () => {
  const s = service({ waitMs: 30 });
  const begun = later<void>();
  const go = later<void>();
  s.app.post(
    "/pay",
    s.idempotent({ scope: "slow" }, async (c) => {
      begun.resolve();
      await go.promise;
      return c.text("done");
    }),
  );
  const first = s.call({ key: "s" });
  await begun.promise;
  // In this process the gate holds it; another one meets the lock.
  const other = service({ waitMs: 0 });
  other.app.post(
    "/pay",
    other.idempotent({ scope: "slow" }, (c) => c.text("twice")),
  );
  for (const kit of [s, other]) {
    const second = await kit.call({ key: "s" });
    assert.equal(second.status, 409);
    assert.equal(second.headers.get("Retry-After"), "1");
    assert.equal(await code(second), "idempotency_key_in_progress");
  }
  go.resolve();
  assert.equal(await (await first).text(), "done");
});

test("work that takes too long is rolled back, and can write no more", async () => {
  const s = service({ maxRunMs: 50 });
  const wrote = later<unknown>();
  s.app.post(
    "/pay",
    s.idempotent({ scope: "long" }, async (c) => {
      const { tx } = c.var;
      await tx.query(insert, ["long"]);
      await new Promise((resolve) => setTimeout(resolve, 150));
      try {
        await tx.query(insert, ["long"]);
        wrote.resolve("written");
      } catch (error) {
        wrote.resolve((error as Error).message);
      }
      return c.text("done");
    }),
  );
  const answer = await s.call({ key: "l" });
  assert.equal(answer.status, 503);
  assert.equal(answer.headers.get("Retry-After"), "1");
  assert.equal(await code(answer), "run_too_long");
  assert.match(String(await wrote.promise), /is over/);
  assert.equal(await db.effects("long"), 0);
});

test("work that ends the transaction is told, and not repeated", async () => {
  for (const [n, sql] of ["/**/ COMMIT", "/**/ ROLLBACK", "/**/ COMMIT; BEGIN"].entries()) {
    for (const status of [200, 503]) {
      const s = service();
      const operation = `ended-${n}-${status}`;
      s.app.post(
        "/pay",
        s.idempotent({ scope: operation }, async (c) => {
          await c.var.tx.query(insert, [operation]);
          await c.var.tx.query(sql);
          return c.text("done", status as 200);
        }),
      );
      const answer = await s.call({ key: "e" });
      assert.equal(answer.status, 500, sql);
      assert.equal(await code(answer), "transaction_ended_by_handler");
      const again = await s.call({ key: "e" });
      assert.equal(again.status, 500);
      assert.equal(again.headers.get("Idempotency-Body"), "omitted");
      assert.equal(await db.effects(operation), sql.includes("ROLLBACK") ? 0 : 1);
    }
  }
});

test("COMMIT, ROLLBACK and release are refused at once", async () => {
  const s = service();
  const refused: string[] = [];
  s.app.post(
    "/pay",
    s.idempotent({ scope: "guard" }, async (c) => {
      const { tx } = c.var;
      for (const end of ["COMMIT", " rollback", "BEGIN", "end;", "START TRANSACTION", "ABORT"]) {
        assert.throws(() => tx.query(end), /idempotency kit/);
        assert.throws(() => tx.query({ text: end }), /idempotency kit/);
        refused.push(end);
      }
      assert.throws(() => tx.release(), /idempotency kit/);
      await tx.query("SAVEPOINT mine");
      await tx.query("ROLLBACK TO mine");
      await tx.query(insert, ["guard"]);
      return c.text("done");
    }),
  );
  assert.equal((await s.call({ key: "g" })).status, 200);
  assert.equal(refused.length, 6);
  assert.equal(await db.effects("guard"), 1);
});

test("a failed statement that the handler ignores aborts", async () => {
  const s = service();
  s.app.post(
    "/pay",
    s.idempotent({ scope: "aborted" }, async (c) => {
      await c.var.tx.query(insert, ["aborted"]);
      await c.var.tx.query("SELECT no_such_column").catch(() => {});
      return c.text("done");
    }),
  );
  const answer = await s.call({ key: "a" });
  assert.equal(answer.status, 500);
  assert.equal(await code(answer), "transaction_aborted");
  assert.equal(await db.effects("aborted"), 0);
});

test("a deferred constraint aborts, and leaves the key free", async () => {
  await db.pool.query(`CREATE TABLE deferred (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)`);
  const s = service();
  s.app.post(
    "/pay",
    s.idempotent({ scope: "deferred" }, async (c) => {
      await c.var.tx.query("INSERT INTO deferred VALUES (1), (1)");
      return c.text("done");
    }),
  );
  assert.equal(await code(await s.call({ key: "a" })), "transaction_aborted");
  assert.equal(await code(await s.call({ key: "a" })), "transaction_aborted");
});

test("an expired key is free", async () => {
  const s = paying({ ttlsMs: { pay: 150 } });
  const first = await s.call({ key: "brief", body: { operation: "brief" } });
  assert.equal(
    (await s.call({ key: "brief", body: { operation: "brief" } })).headers.get("Idempotent-Replayed"),
    "true",
  );
  const until = `SELECT pg_sleep(greatest(0, extract(epoch FROM $1::timestamptz - clock_timestamp()) + 0.01))`;
  await db.pool.query(until, [first.headers.get("Idempotency-Key-Expires")]);
  // Of an expired key not even the payload is compared.
  const again = await s.call({ key: "brief", body: { operation: "brief", more: true } });
  assert.equal(again.status, 201);
  assert.equal(again.headers.get("Idempotent-Replayed"), null);
  assert.equal(await db.effects("brief"), 2);
});

test("large replies are stored without their body, and larger ones refused", async () => {
  const s = service({ maxStoredBody: 10, maxReplyBody: 20 });
  s.app.post(
    "/pay",
    s.idempotent({ scope: "large" }, async (c) => c.text("x".repeat((await c.req.json<{ n: number }>()).n))),
  );
  assert.equal(await (await s.call({ key: "20", body: { n: 20 } })).text(), "x".repeat(20));
  const again = await s.call({ key: "20", body: { n: 20 } });
  assert.equal(again.headers.get("Idempotency-Body"), "omitted");
  assert.equal(await again.text(), "");
  assert.equal(await code(await s.call({ key: "21", body: { n: 21 } })), "reply_too_large");
});

test("middleware outside keeps its headers on a replay, and may read the body first", async () => {
  const s = service();
  s.app.use(cors({ origin: "https://shop.test" }));
  s.app.use(async (c, next) => {
    c.header("X-Request-Id", "1");
    await c.req.json();
    await next();
  });
  s.app.post(
    "/pay",
    s.idempotent({ scope: "outside" }, async (c) => c.json(await c.req.json())),
  );
  for (const replayed of [null, "true"]) {
    const answer = await s.call({ key: "o", body: { a: 1 }, headers: { Origin: "https://shop.test" } });
    assert.equal(answer.headers.get("Idempotent-Replayed"), replayed);
    assert.equal(answer.headers.get("Access-Control-Allow-Origin"), "https://shop.test");
    assert.equal(answer.headers.get("X-Request-Id"), "1");
    assert.deepEqual(await answer.json(), { a: 1 });
  }
});

test("a route that is wrapped twice is refused, and reads pass without a transaction", async () => {
  const s = service();
  const inner = s.idempotent({ scope: "inner" }, (c) => c.text("done"));
  s.app.post(
    "/pay",
    s.idempotent({ scope: "outer" }, async (c) => (await inner(c as never, async () => {})) as Response),
  );
  s.app.all(
    "/read",
    s.idempotent({ scope: "read" }, (c) => {
      assert.throws(() => c.var.tx.query("SELECT 1"), /no transaction/);
      return c.text("read");
    }),
  );
  assert.equal(await code(await s.call({ key: "t" })), "idempotency_handler_misplaced");
  assert.equal(await (await s.app.request("/read")).text(), "read");
});

test("the database ends the connection in the middle of the work: nothing stands, and the process lives", async () => {
  const s = service();
  let end = true;
  s.app.post(
    "/pay",
    s.idempotent({ scope: "cut" }, async (c) => {
      const { rows } = await c.var.tx.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
      await c.var.tx.query(insert, ["cut"]);
      if (end) {
        await db.pool.query("SELECT pg_terminate_backend($1, 5000)", [rows[0]!.pid]);
      }
      return c.text("done");
    }),
  );
  const cut = await s.call({ key: "c" });
  assert.equal(cut.status, 503);
  assert.equal(await code(cut), "idempotency_store_unavailable");
  assert.equal(await db.effects("cut"), 0);
  end = false;
  assert.equal(await (await s.call({ key: "c" })).text(), "done");
  assert.equal(await db.effects("cut"), 1);
});

test("a database that gives no answer is told of in time, and its connection is not used again", async () => {
  const s = paying({ storeTimeoutMs: 300 });
  const holder = await db.pool.connect();
  await holder.query("BEGIN; LOCK TABLE idempotency_keys IN ACCESS EXCLUSIVE MODE");
  try {
    const answer = await s.call({ key: "silent", body: { operation: "silent" } });
    assert.equal(answer.status, 503);
    assert.equal(await code(answer), "idempotency_store_unavailable");
  } finally {
    await holder.query("ROLLBACK");
    holder.release();
  }
  assert.equal((await s.call({ key: "silent", body: { operation: "silent" } })).status, 201);
  assert.equal(await db.effects("silent"), 1);
});

test("a pool without a free connection is told of in time, and gets its connections back", async () => {
  const s = paying({ storeTimeoutMs: 200 });
  const clients = await Promise.all(Array.from({ length: 12 }, () => db.pool.connect()));
  const answer = await s.call({ key: "full", body: { operation: "full" } });
  assert.equal(await code(answer), "idempotency_store_unavailable");
  for (const client of clients) {
    client.release();
  }
  assert.equal((await s.call({ key: "full", body: { operation: "full" } })).status, 201);
  assert.equal(await db.effects("full"), 1);
});
