// The examples, run.

import assert from "node:assert/strict";
import { test } from "node:test";
import { commissions } from "../../examples/commission-locks.js";
import { libraries, writers } from "../../examples/libraries.js";
import { billing } from "../../examples/tenants.js";
import { keysTable } from "@cronce/idempotency/pg";
import { drizzle } from "drizzle-orm/node-postgres";
import { readFileSync } from "node:fs";
import pg from "pg";
import { database, testURL } from "../support/database.js";

const db = await database();

for (const name of Object.keys(writers)) {
  test(`${name} writes in the kit's transaction`, async () => {
    const app = libraries(db.pool, { schema: db.schema });
    const call = (key: string, body: object) =>
      app.request(`/${name}`, {
        method: "POST",
        headers: { "Idempotency-Key": key, "Content-Type": "application/json" },
        body: JSON.stringify(body),
      });
    const operation = `${name} done`;
    assert.equal((await call("1", { operation })).status, 201);
    assert.equal((await call("1", { operation })).headers.get("Idempotent-Replayed"), "true");
    assert.equal(await db.effects(operation), 1);
    assert.equal((await call("2", { operation: `${name} undone`, status: 503 })).status, 503);
    assert.equal(await db.effects(`${name} undone`), 0);
  });
}

test("a library's own transaction is refused, since it would commit the kit's", async () => {
  const { Kit } = await import("@cronce/idempotency");
  const once = new Kit(db.store).once({ scope: "nested", key: "1" }, async (tx) =>
    drizzle(tx).transaction(async () => {}),
  );
  await assert.rejects(once, (error: Error) => /idempotency kit/.test(`${error.message} ${String(error.cause)}`));
});

test("the commission locks are released once a night", async () => {
  await withDatabase("locks", async (pool) => {
    await pool.query(`CREATE TABLE commission_locks (partner text, cents bigint, locked_until timestamptz, released_at timestamptz);
      CREATE TABLE payouts (partner text, cents bigint);
      INSERT INTO commission_locks VALUES ('a', 100, '2026-11-20', NULL), ('a', 50, '2026-11-21', NULL), ('b', 7, '2026-11-22', NULL)`);
    const app = await commissions(pool, (token) => (token === "secret" ? "scheduler" : undefined));
    const call = (token: string) =>
      app.request("/v1/admin/release-commission-locks", {
        method: "POST",
        headers: {
          Authorization: `Bearer ${token}`,
          "Content-Type": "application/json",
          "Idempotency-Key": "release-commission-locks@2026-11-21T03:00:00Z",
        },
        body: JSON.stringify({ scheduledAt: "2026-11-21T03:00:00Z" }),
      });
    const answers = await Promise.all([call("secret"), call("secret"), call("secret")]);
    for (const answer of answers) {
      assert.equal(answer.status, 200);
      assert.deepEqual(await answer.json(), { payouts: 1 });
    }
    assert.equal((await call("stolen")).status, 401);
    assert.deepEqual((await pool.query("SELECT partner, cents FROM payouts")).rows, [{ partner: "a", cents: "150" }]);
  });
});

test("each tenant is billed once by each key, although two send the same one", async () => {
  await withDatabase("tenants", async (pool) => {
    await pool.query("CREATE TABLE bills (tenant text)");
    const app = billing(pool, (header) => header?.replace("Bearer ", ""));
    const month = "@2026-11-01T03:00:00Z";
    for (const [account, tenant, key, replayed] of [
      ["cronce", "acme", `bill-tenants::acme${month}`, null],
      ["cronce", "acme", `bill-tenants::acme${month}`, "true"],
      ["cronce", "globex", `bill-tenants::globex${month}`, null],
      ["gateway", "acme", "1", null],
      ["gateway", "globex", "1", null],
      ["gateway", "globex", "1", "true"],
    ] as const) {
      const answer = await app.request(`/v1/tenants/${tenant}/bill`, {
        method: "POST",
        headers: { Authorization: `Bearer ${account}`, "Idempotency-Key": key },
      });
      assert.deepEqual(
        [answer.status, answer.headers.get("Idempotent-Replayed")],
        [201, replayed],
        `${account} ${tenant}`,
      );
    }
    const { rows } = await pool.query(
      "SELECT tenant, count(*)::int AS bills FROM bills GROUP BY tenant ORDER BY tenant",
    );
    assert.deepEqual(rows, [
      { tenant: "acme", bills: 2 },
      { tenant: "globex", bills: 2 },
    ]);
  });
});

/** withDatabase calls work with a database that has the table of keys. */
async function withDatabase(of: string, work: (pool: pg.Pool) => Promise<void>): Promise<void> {
  const name = `node_example_${of}_${process.pid}`;
  const admin = new pg.Client({ connectionString: testURL("TEST_POSTGRES_URL") });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${name}`);
  const url = new URL(testURL("TEST_POSTGRES_URL"));
  url.pathname = `/${name}`;
  const pool = new pg.Pool({ connectionString: url.href });
  pool.on("error", () => {});
  try {
    await pool.query(`CREATE SCHEMA cronce; ${keysTable()}`);
    await work(pool);
  } finally {
    await pool.end();
    await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await admin.end();
  }
}

test("the table is that of the migrations", () => {
  const file = new URL("../../../../../idempotency/keytable/postgres/00001_keys.sql", import.meta.url);
  const squeeze = (sql: string) => sql.replace(/--.*/g, "").replaceAll('"', "").replace(/\s+/g, " ").trim();
  const up = readFileSync(file, "utf8").split("-- +goose Down")[0]!;
  const filled = up.replaceAll("{{schema}}", "cronce").replaceAll("{{table}}", "idempotency_keys");
  assert.equal(squeeze(keysTable()), squeeze(filled));
});
