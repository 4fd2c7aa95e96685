// The kit on MariaDB or MySQL.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { hasCode, Kit, purge, type Code, type Options } from "@cronce/idempotency";
import { honoIdempotency, singlePrincipal } from "@cronce/idempotency/hono";
import { mysqlKeysTable, MysqlStore, type MysqlTx } from "@cronce/idempotency/mysql2";
import { Hono } from "hono";
import { createPool, type PoolConnection, type QueryOptions, type QueryValues } from "mysql2/promise";
import { mysqlDatabase } from "../support/database.js";

const { pool, config, effects } = await mysqlDatabase();
const insert = "INSERT INTO effects VALUES (?)";
const newKit = (options: Options = {}) => new Kit(new MysqlStore(pool), { logError: () => {}, ...options });
const is = (code: Code) => (error: unknown) => hasCode(error, code);

const work = (operation: string) => async (tx: MysqlTx) => {
  await tx.query(insert, [operation]);
  return { operation, at: process.hrtime.bigint().toString() };
};

test("the service is ready, and told when its table is missing", async () => {
  await newKit().ready();
  await assert.rejects(new Kit(new MysqlStore(pool, { table: "nowhere" })).ready(), /create it/);
});

test("a route behind Hono replays the same bytes", async () => {
  const idempotent = honoIdempotency(newKit(), { principal: singlePrincipal("shop") });
  const app = new Hono();
  app.post(
    "/pay",
    idempotent({ scope: "pay" }, async (c) => {
      const { operation, status } = await c.req.json<{ operation: string; status?: number }>();
      c.header("Location", "/ü".replace("ü", "%C3%BC"));
      return c.json(await work(operation)(c.var.tx), (status ?? 201) as 201);
    }),
  );
  const call = (key: string, body: object) =>
    app.request("/pay", {
      method: "POST",
      headers: { "Idempotency-Key": key, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
  const first = await call("1", { operation: "route" });
  const again = await call("1", { operation: "route" });
  assert.equal(await again.text(), await first.text());
  assert.equal(again.headers.get("Idempotent-Replayed"), "true");
  for (const header of ["Location", "Content-Type", "Idempotency-Key-Expires"]) {
    assert.equal(again.headers.get(header), first.headers.get(header));
  }
  assert.equal((await call("1", { operation: "other" })).status, 409);
  for (const [status, replayed] of [
    [422, "true"],
    [503, null],
  ] as const) {
    await call(`s${status}`, { operation: "undone", status });
    const answer = await call(`s${status}`, { operation: "undone", status });
    assert.equal(answer.status, status);
    assert.equal(answer.headers.get("Idempotent-Replayed"), replayed);
  }
  assert.equal(await effects("route"), 1);
  assert.equal(await effects("undone"), 0);
});

test("a connection of the pool keeps its wait_timeout, however the work ends", async () => {
  const one = createPool({ ...config, connectionLimit: 1 });
  const seconds = async () => JSON.stringify((await one.query("SELECT @@SESSION.wait_timeout"))[0]);
  const before = await seconds();
  const kit = new Kit(new MysqlStore(one), { logError: () => {}, maxRunMs: 60_000 });
  const ends: [string, (tx: MysqlTx) => Promise<unknown>][] = [
    ["commit", (tx) => tx.query(insert, ["kept"])],
    ["rollback", () => Promise.reject(new Error("no"))],
    ["ended", (tx) => tx.query("CREATE TABLE made (id INT)")], // which commits
  ];
  for (const [key, end] of ends) {
    await kit.once({ scope: "wait", key }, async (tx) => void (await end(tx))).catch(() => {});
    assert.equal(await seconds(), before, key);
  }
  await one.end();
});

test("of calls at once in several processes one works", async () => {
  const op = { scope: "storm", key: "1" };
  const kits = Array.from({ length: 4 }, () => newKit({ waitMs: 60_000 })); // each has a gate of its own
  const done = await Promise.all(Array.from({ length: 80 }, (_, i) => kits[i % 4]!.once(op, work("storm"))));
  assert.equal(new Set(done.map((d) => d.result.at)).size, 1);
  assert.equal(done.filter((d) => !d.duplicate).length, 1);
  assert.equal(await effects("storm"), 1);
});

test("a late call starts no work, and learns of work that is done", async () => {
  const op = { scope: "late", key: "1", sendBefore: new Date(0) };
  await assert.rejects(newKit().once(op, work("late")), is("run_too_late"));
  await newKit().once({ ...op, sendBefore: new Date(Date.now() + 60_000) }, work("late"));
  assert.equal((await newKit().once(op, work("late"))).duplicate, true);
  assert.equal(await effects("late"), 1);
});

/** asMySQL is the pool with what the store sends to MySQL. MariaDB understands it too. */
const asMySQL = new Proxy(pool, {
  get: (target, name) =>
    name === "getConnection" ? async () => answersAsMySQL(await target.getConnection()) : Reflect.get(target, name),
});

function answersAsMySQL(connection: PoolConnection): PoolConnection {
  return new Proxy(connection, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (name === "query") {
        return (options: QueryOptions, values?: QueryValues) =>
          target.query(
            options.sql?.startsWith("SELECT VERSION()") ? { ...options, sql: "SELECT '8.0.46', 0" } : options,
            values,
          );
      }
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

for (const [server, on] of [
  ["this server", pool],
  ["MySQL", asMySQL],
] as const) {
  test(`work that ends the transaction is told, and not repeated, on ${server}`, async () => {
    for (const sql of ["/**/ COMMIT", "/**/ ROLLBACK"]) {
      for (const fails of [false, true]) {
        const op = { scope: "ended", key: `${server}-${sql.slice(5)}-${fails}` };
        const kit = new Kit(new MysqlStore(on), { logError: () => {} });
        const once = () =>
          kit.once(op, async (tx) => {
            await tx.query(insert, [op.key]);
            await tx.query(sql);
            if (fails) {
              throw new Error("no luck");
            }
          });
        await assert.rejects(once(), is("transaction_ended_by_handler"));
        await assert.rejects(once(), is("transaction_ended_by_handler"));
        assert.equal(await effects(op.key), sql.includes("COMMIT") ? 1 : 0);
      }
    }
  });
}

test("a conflict by which MariaDB rolls the work back leaves the key free", async (t) => {
  await pool.query("CREATE TABLE accounts (id INT PRIMARY KEY, cents INT)");
  await pool.query("INSERT INTO accounts VALUES (1, 0)");
  const add = "UPDATE accounts SET cents = cents + 1 WHERE id = 1";
  const conflict = (then: string) => (tx: MysqlTx) =>
    tx
      .query("SELECT cents FROM accounts")
      .then(() => pool.query(add))
      .then(() => tx.query(add))
      .catch(async (error: unknown) => {
        if (then === "fails") {
          throw error;
        }
        await tx.query(insert, [then]); // is committed by itself
        if (then === "fails later") {
          await tx.query("ROLLBACK TO SAVEPOINT none");
        }
      });
  const one = createPool({ ...config, connectionLimit: 1 });
  t.after(() => one.end());
  const set = await one.query("SET SESSION innodb_snapshot_isolation = ON").catch(() => undefined);
  if (set === undefined) {
    t.skip("NOT TESTED: the server has no innodb_snapshot_isolation");
    return;
  }
  const kit = new Kit(new MysqlStore(one), { logError: () => {} });
  await assert.rejects(kit.once({ scope: "conflict", key: "fails" }, conflict("fails")), { errno: 1020 });
  assert.equal((await kit.once({ scope: "conflict", key: "fails" }, async () => {})).duplicate, false);
  for (const then of ["goes on", "fails later"]) {
    for (let n = 0; n < 2; n++) {
      const again = kit.once({ scope: "conflict", key: then }, conflict(then));
      await assert.rejects(again, is("transaction_ended_by_handler"));
    }
    assert.equal(await effects(then), 1);
  }
});

test("a claim pauses while the lock table is full", async (t) => {
  await pool.query("CREATE TABLE seen (n INT) ENGINE = MyISAM");
  await pool.query(`CREATE TRIGGER fails BEFORE INSERT ON idempotency_keys FOR EACH ROW
    BEGIN INSERT INTO seen VALUES (1); SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1206, MESSAGE_TEXT = 'no'; END`);
  t.after(() => pool.query("DROP TRIGGER fails"));
  const kit = newKit({ storeTimeoutMs: 1000 });
  await assert.rejects(kit.once({ scope: "full", key: "1" }, async () => {}));
  const [rows] = await pool.query("SELECT n FROM seen");
  const tries = (rows as unknown[]).length;
  assert.ok(tries > 1 && tries < 150, `${tries} tries`);
});

test("the transaction is the kit's", async () => {
  await newKit().once({ scope: "guard", key: "1" }, async (tx) => {
    assert.throws(() => tx.commit(), /idempotency kit/);
    assert.throws(() => tx.query("ROLLBACK"), /idempotency kit/);
    assert.throws(() => tx.release(), /idempotency kit/);
  });
});

test("an expired key is free, and a purge removes only what has expired", async () => {
  const op = { scope: "brief", key: "1" };
  await newKit().once(op, work("brief"));
  await pool.query("UPDATE idempotency_keys SET expires_at = 1 WHERE scope = 'brief'");
  assert.equal((await newKit().once({ ...op, payload: "another" }, work("brief"))).duplicate, false);
  assert.equal(await effects("brief"), 2);
  const rows = Array.from(
    { length: 500 },
    (_, i) => `('purge', '-', '${i}', 'h', 'done', 'o', 1, ${i < 450 ? 2 : 9e15})`,
  );
  await pool.query(
    `INSERT INTO idempotency_keys (scope, principal, \`key\`, request_hash, state, owner, created_at, expires_at) VALUES ${rows.join(",")}`,
  );
  const removed = await purge(newKit(), { scope: "purge", batch: 300, share: 1 });
  assert.deepEqual(removed, { deleted: 450, scopes: [{ scope: "purge", deleted: 450 }], done: true });
});

test("a vendor is called once, and an unknown outcome is reconciled", async () => {
  const op = { scope: "vendor", key: "1" };
  const lost = { do: () => Promise.reject(new Error("lost")) };
  await assert.rejects(newKit().callOnce(op, lost), is("idempotency_outcome_unknown"));
  await assert.rejects(newKit().callOnce(op, lost), is("idempotency_outcome_unknown"));
  const found = await newKit().callOnce<number>(op, {
    ...lost,
    reconcile: async () => ({ done: true, result: 7 }),
  });
  assert.deepEqual(found, { result: 7, duplicate: true });
  assert.deepEqual(await newKit().callOnce(op, { do: async () => 8 }), { result: 7, duplicate: true });
});

test("work that takes too long is rolled back", async () => {
  const kit = newKit({ maxRunMs: 60 });
  await assert.rejects(
    kit.once({ scope: "long", key: "1" }, async (tx) => {
      await tx.query(insert, ["long"]);
      await new Promise((resolve) => setTimeout(resolve, 300));
    }),
    is("run_too_long"),
  );
  assert.equal(await effects("long"), 0);
});

test("the table is that of the migrations", () => {
  const file = new URL("../../../../../idempotency/keytable/mysql/00001_keys.sql", import.meta.url);
  const squeeze = (sql: string) => sql.replace(/--.*/g, "").replaceAll("`", "").replace(/\s+/g, " ").trim();
  const up = readFileSync(file, "utf8").split("-- +goose Down")[0]!;
  assert.equal(squeeze(mysqlKeysTable()), squeeze(up.replaceAll("{{table}}", "idempotency_keys")));
});
