// Connections that work must not use: its transaction's after its end, and others.

import assert from "node:assert/strict";
import { once } from "node:events";
import { after, test } from "node:test";
import { Kit, type Store } from "@cronce/idempotency";
import { asPool, PgStore, type PgTx } from "@cronce/idempotency/pg";
import { MysqlStore, type MysqlTx } from "@cronce/idempotency/mysql2";
import { createPool } from "mysql2";
import pg from "pg";
import { database, insert, mysqlDatabase } from "../support/database.js";
import { later } from "../support/later.js";

const db = await database();
const mysql = await mysqlDatabase();

/** escaped is the transaction of work that is over. */
async function escaped<Tx>(store: Store<Tx>, work: (tx: Tx) => Promise<unknown> = async () => {}): Promise<Tx> {
  let tx: Tx;
  await new Kit(store).once({ scope: "late", key: crypto.randomUUID() }, async (its) => {
    await work((tx = its));
  });
  return tx!;
}

test("a late query rejects, throws nothing at once, and does not end the process", async () => {
  const over = /is over: await every query/;
  const warned = once(process, "warning");
  const tx = await escaped(db.store);
  void tx.query(insert, ["late"]); // nobody listens
  assert.match(String(((await warned) as [Error])[0]), over);
  await assert.rejects(tx.query(insert, ["late"]), over);
  assert.match(String(await new Promise((done) => tx.query(insert, ["late"], done))), over);
  const failed = later<Error>();
  const cursor = { submit: () => assert.fail("submitted"), handleError: failed.resolve };
  assert.equal((tx.query as (query: unknown) => unknown)(cursor), cursor);
  assert.match(String(await failed.promise), over);

  const statements: { execute(values: string[]): Promise<unknown> }[] = [];
  const other = await escaped(mysql.store, async (its: MysqlTx) => {
    const statement = await its.prepare("INSERT INTO effects VALUES (?)");
    await statement.execute(["prepared"]);
    statements.push(statement);
  });
  assert.equal(await mysql.effects("prepared"), 1);
  await assert.rejects(statements[0]!.execute(["late"]), over);
  await assert.rejects(other.query("INSERT INTO effects VALUES ('late')"), over);
  await assert.rejects(other.execute("INSERT INTO effects VALUES ('late')"), over);
  await assert.rejects(other.prepare("INSERT INTO effects VALUES ('late')"), over);
  assert.equal((await db.effects("late")) + (await mysql.effects("late")), 0);
});

test("a pool with the settings of the transaction is refused", async () => {
  // As Prisma's adapter does with whatever is no pool.
  await escaped(db.store, async (tx: PgTx) => {
    for (const settings of [tx, asPool(tx)]) {
      assert.throws(() => new pg.Pool(settings as pg.PoolConfig), /would open connections of its own/);
    }
  });
});

test("a pool whose values the kit cannot read is refused before any work", async () => {
  const pool = new pg.Pool({ connectionString: db.url, binary: true } as pg.PoolConfig);
  after(() => pool.end());
  const kit = new Kit(new PgStore(pool, { schema: db.schema }));
  await assert.rejects(kit.ready(), /make it without \{ binary: true \}/);
  await assert.rejects(
    kit.once({ scope: "binary", key: "1" }, async () => assert.fail("the work was run")),
    /binary/,
  );
});

test("a pool of mysql2 with callbacks is refused, and its promise() is not", async () => {
  const pool = createPool(mysql.config);
  after(() => pool.promise().end());
  assert.throws(() => new MysqlStore(pool as never), /pass pool\.promise\(\)/);
  await new Kit(new MysqlStore(pool.promise())).ready();
});
