// A crash of PostgreSQL, on a server of its own: every session of a server ends with it.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Kit } from "@cronce/idempotency";
import { database, insert } from "../support/database.js";
import { eventually, goPrograms } from "../support/process.js";

if (process.env["OWN_SERVER"] === undefined) {
  test("PostgreSQL crashes", async () => {
    const withDatabases = join(goPrograms("./internal/testdb/cmd/with-databases"), "with-databases");
    const { TEST_POSTGRES_URL: _shared, NODE_TEST_CONTEXT: _parent, ...env } = process.env;
    const child = spawn(withDatabases, [process.execPath, fileURLToPath(import.meta.url)], {
      env: { ...env, OWN_SERVER: "1" },
      stdio: ["ignore", "inherit", "inherit"],
    });
    const [code] = (await once(child, "exit")) as [number];
    assert.equal(code, 0);
  });
} else {
  // A server that crashes forgets the ID of a transaction of which nothing has come to its log,
  // and gives it to another one. That the other one is committed does not mean that the work is.
  test("work that the crash of one backend undoes leaves its key free", async () => {
    const db = await database();
    const kit = new Kit(db.store, { logError: () => {} });
    const op = { scope: "crash", key: "1" };
    const idOf = async (on: { query: typeof db.pool.query }) =>
      Number((await on.query<{ id: string }>("SELECT txid_current() AS id")).rows[0]!.id);
    const crashed = kit.once(op, async (tx) => {
      const id = await idOf(tx);
      const { pid } = (await tx.query<{ pid: number }>("SELECT pg_backend_pid() AS pid")).rows[0]!;
      const other = await db.pool.connect(); // the crash ends it too
      const crash = new Promise((resolve) => other.on("error", resolve).on("end", () => resolve(undefined)));
      await db.pool.query(`COPY (SELECT 1) TO PROGRAM 'kill -9 ${pid}'`).catch(() => {});
      await crash;
      other.release(true);
      for (let next = 0; next < id;) {
        next = await eventually(() => idOf(db.pool));
      }
      await tx.query(insert, ["paid"]);
    });
    await assert.rejects(crashed);
    const again = await kit.once(op, async (tx) => void (await tx.query(insert, ["paid"])));
    assert.equal(again.duplicate, false);
    assert.equal(await db.effects(), 1);
  });
}
