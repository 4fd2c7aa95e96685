// A service that follows the protocol of `cronce conform`, on Hono and pg:
//
//	DATABASE_URL=postgres://… LISTEN=127.0.0.1:8080 node build/examples/conform.js

import { randomUUID } from "node:crypto";
import * as timers from "node:timers/promises";
import { serve } from "@hono/node-server";
import { Kit } from "@cronce/idempotency";
import { honoIdempotency } from "@cronce/idempotency/hono";
import { keysTable, PgStore } from "@cronce/idempotency/pg";
import { Hono } from "hono";
import pg from "pg";

const BRIEF_SECONDS = 1;

const schema = process.env["SCHEMA"] ?? "conform";
const pool = new pg.Pool({ connectionString: process.env["DATABASE_URL"], max: 20 });
pool.on("error", (error) => console.error("idle connection lost:", error.message));
await migrate();

const kit = new Kit(new PgStore(pool, { schema }), {
  waitMs: 300,
  maxRunMs: 10_000,
  ttlsMs: { "conform:brief": BRIEF_SECONDS * 1000 },
});
await kit.ready();

const idempotent = honoIdempotency(kit, {
  // In the test protocol a token is its owner's name.
  principal: (c) => c.req.header("Authorization")?.replace(/^Bearer /, ""),
});

const app = new Hono();

app.get("/conform", (c) => c.json({ protocol: 1, crash: true, briefSeconds: BRIEF_SECONDS, long: true }));

app.get("/conform/effects", async (c) => {
  const { rows } = await pool.query<{ n: string }>(
    `SELECT count(*) AS n FROM "${schema}".effects WHERE operation = $1`,
    [c.req.query("operation")],
  );
  return c.json({ count: Number(rows[0]!.n) });
});

for (const [path, scope] of [
  ["/conform/effects", "conform:effects"],
  ["/conform/brief", "conform:brief"],
] as const) {
  app.on(
    ["POST", "PUT"],
    path,
    idempotent({ scope }, async (c) => {
      const { operation, answer } = await c.req.json<{ operation: string; answer?: number }>();
      const effect = randomUUID();
      await c.var.tx.query(`INSERT INTO "${schema}".effects (effect, operation) VALUES ($1, $2)`, [effect, operation]);
      const fault = c.req.header("Conform-Fault") ?? "";
      if (fault === "crash") {
        process.kill(process.pid, "SIGKILL");
        await timers.setTimeout(60_000); // the signal takes a moment
      }
      if (fault.startsWith("hold=")) {
        await timers.setTimeout(Number(fault.slice("hold=".length)));
      }
      c.header("Location", `${path}?operation=${operation}`);
      c.header("Set-Cookie", `conform=${randomUUID()}`);
      return c.json({ operation, effect, text: "Zürich  – 10 €" }, (answer ?? 201) as 201);
    }),
  );
}

// Long work: the effect is committed when it is finished.
app.post(
  "/conform/long",
  idempotent.accept({ scope: "conform:long", leaseMs: 1_500, pollMs: 1_000 }, async (work) => {
    const { operation, answer } = work.request.json<{ operation: string; answer?: number }>();
    const [fault = ""] = work.request.header("conform-fault");
    await work.progress({ done: 1, of: 2 });
    if (fault === "crash") {
      process.kill(process.pid, "SIGKILL");
      await timers.setTimeout(60_000); // the signal takes a moment
    }
    if (fault.startsWith("hold=")) {
      await timers.setTimeout(Number(fault.slice("hold=".length)));
    }
    await work.finish(async (tx) => {
      const effect = randomUUID();
      await tx.query(`INSERT INTO "${schema}".effects (effect, operation) VALUES ($1, $2)`, [effect, operation]);
      const headers = { Location: `/conform/long?operation=${operation}`, "Set-Cookie": `conform=${randomUUID()}` };
      return Response.json({ operation, effect, text: "Zürich  – 10 €" }, { status: answer ?? 201, headers });
    });
  }),
);

const [hostname = "127.0.0.1", port = "8080"] = (process.env["LISTEN"] ?? "127.0.0.1:8080").split(":");
serve({ fetch: app.fetch, hostname, port: Number(port) }, (info) =>
  console.log(`listening on ${hostname}:${info.port}`),
);

/** migrate creates the tables, if no other process has. */
async function migrate(): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("SELECT pg_advisory_lock(1129270862)");
    const { rowCount } = await client.query("SELECT FROM pg_tables WHERE schemaname = $1", [schema]);
    if (rowCount === 0) {
      await client.query(`BEGIN; CREATE SCHEMA IF NOT EXISTS "${schema}"; ${keysTable({ schema })};
        CREATE TABLE "${schema}".effects (effect text PRIMARY KEY, operation text NOT NULL); COMMIT`);
    }
    await client.query("SELECT pg_advisory_unlock(1129270862)");
  } finally {
    client.release();
  }
}
