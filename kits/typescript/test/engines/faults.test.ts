// The network between the service and its database fails at each of its chunks: the
// client gets one whole answer, and what it is told is so.

import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { Kit, type Store } from "@cronce/idempotency";
import { expressIdempotency } from "@cronce/idempotency/express";
import { MysqlStore } from "@cronce/idempotency/mysql2";
import { PgStore } from "@cronce/idempotency/pg";
import express from "express";
import { createPool } from "mysql2/promise";
import pg from "pg";
import { database, insert, mysqlDatabase } from "../support/database.js";
import type { Tx } from "../contract/engines.js";
import { Wire, type Seen } from "../contract/wire.js";
import { Network } from "../support/network.js";

interface Engine {
  readonly name: string;
  readonly network: Network;
  /** open makes a store with a pool of its own behind the network. */
  open(): { store: Store<Tx>; taken(): number; close(): Promise<unknown> };
  readonly insert: string;
  effects(operation: string): Promise<number>;
}

async function postgres(): Promise<Engine> {
  const db = await database();
  const url = new URL(db.url);
  const network = await Network.start(url.hostname || "127.0.0.1", Number(url.port || 5432));
  return {
    name: "PostgreSQL",
    network,
    insert,
    effects: db.effects,
    open: () => {
      const behind = new URL(url);
      behind.host = `127.0.0.1:${network.port}`;
      const options = `-c search_path=${db.schema}`;
      const pool = new pg.Pool({ connectionString: behind.href, options, max: 2, connectionTimeoutMillis: 300 });
      pool.on("error", () => {});
      const store = new PgStore(pool, { schema: db.schema }) as Store<Tx>;
      return { store, taken: () => pool.totalCount - pool.idleCount, close: () => pool.end() };
    },
  };
}

async function mariaDB(): Promise<Engine> {
  const db = await mysqlDatabase();
  const network = await Network.start(db.config.host, db.config.port);
  return {
    name: "MariaDB",
    network,
    insert: "INSERT INTO effects VALUES (?)",
    effects: db.effects,
    open: () => {
      const pool = createPool({
        ...db.config,
        host: "127.0.0.1",
        port: network.port,
        connectionLimit: 2,
        connectTimeout: 300,
      });
      const inner = pool.pool as unknown as { _allConnections: unknown[]; _freeConnections: unknown[] };
      return {
        store: new MysqlStore(pool) as Store<Tx>,
        taken: () => inner._allConnections.length - inner._freeConnections.length,
        close: () => pool.end(),
      };
    },
  };
}

for (const engine of [await postgres(), await mariaDB()]) {
  for (const how of ["cut", "stall"] as const) {
    for (const to of ["server", "client"] as const) {
      test(`${engine.name}: a network that will ${how} each chunk to the ${to}`, async () => {
        const failures: string[] = [];
        let at = 1;
        for (let n = 0, isDone = false; !isDone && at < 60; n++) {
          const came = await operate(engine, { at, to, how }, n).catch((error: Error) => {
            failures.push(`chunk ${at}: ${error.message}`);
            return "struck";
          });
          isDone = came === "done";
          at += came === "slow" ? 0 : 1;
        }
        assert.ok(failures.length === 0, failures.join("\n"));
        assert.ok(at > 6, `only ${at} chunks`);
      });
    }
  }
}

/**
 * operate repeats an operation until it is done, under a fault at first, and reports whether the
 * fault has happened: "struck", "done" if the operation has fewer chunks, or "slow" if a busy
 * machine has used up the time of the first call before.
 */
async function operate(
  engine: Engine,
  fault: { at: number; to: "server" | "client"; how: "cut" | "stall" },
  n: number,
): Promise<"struck" | "done" | "slow"> {
  const key = `${fault.how}-${fault.to}-${n}`;
  const { store, taken, close } = engine.open();
  const kit = new Kit(store, { storeTimeoutMs: 250, maxRunMs: 250, waitMs: 0, logError: () => {} });
  const idempotent = expressIdempotency(kit, { principal: () => "alice" });
  const app = express();
  app.post(
    "/pay",
    idempotent({ scope: "pay" }, async (_request, response, tx) => {
      response.status(201).set("X-Work", "1");
      await (tx.query as (sql: string, values: unknown[]) => Promise<unknown>)(engine.insert, [key]);
      response.json({ paid: process.hrtime.bigint().toString() });
    }),
  );
  app.use(((_error, _request, response, _next) => {
    response.status(500).send("failed");
  }) satisfies express.ErrorRequestHandler);
  const server = app.listen(0, "127.0.0.1");
  after(() => server.close().closeAllConnections());
  await new Promise((resolve) => server.once("listening", resolve));
  const wire = new Wire((server.address() as AddressInfo).port);
  const call = async (): Promise<Seen> => {
    wire.send("/pay", { "Idempotency-Key": key, "Content-Type": "application/json" });
    const seen = await wire.answer();
    assert.equal(wire.rest, "");
    return seen;
  };
  try {
    engine.network.fail(fault);
    const first = await call();
    const struck = engine.network.struck;
    engine.network.fail(undefined);
    if (first.status === 201) {
      assert.equal(await engine.effects(key), 1, "told that it was done");
    } else {
      assert.ok([409, 500, 503].includes(first.status), `status ${first.status}`);
      assert.equal(first.headers.get("x-work"), null);
    }
    const deadline = Date.now() + 10_000;
    let last = await call();
    while (last.status !== 201 && Date.now() < deadline) {
      last = await call();
    }
    assert.equal(last.status, 201, last.body);
    if (first.status === 201) {
      assert.equal(last.body, first.body);
    }
    assert.equal(await engine.effects(key), 1);
    for (const until = Date.now() + 2_000; taken() > 0 && Date.now() < until;) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(taken(), 0, "connections are not back in the pool");
    return struck ? "struck" : first.status === 201 ? "done" : "slow";
  } finally {
    engine.network.fail(undefined);
    wire.close();
    server.close();
    await close();
  }
}
