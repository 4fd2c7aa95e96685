// Drizzle, Kysely and plain pg in the kit's transaction.

import { Kit } from "@cronce/idempotency";
import { honoIdempotency, singlePrincipal } from "@cronce/idempotency/hono";
import { asPool, PgStore, type PgOptions, type PgTx } from "@cronce/idempotency/pg";
import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { pgTable, text } from "drizzle-orm/pg-core";
import { Hono } from "hono";
import { Kysely, PostgresDialect } from "kysely";
import type pg from "pg";

const effects = pgTable("effects", { operation: text().notNull() });

interface Tables {
  effects: { operation: string };
}

/** writers insert an effect, each by its library. They need no transaction of their own: `tx` is one. */
export const writers: Record<string, (tx: PgTx, operation: string) => Promise<unknown>> = {
  pg: (tx, operation) => tx.query("INSERT INTO effects VALUES ($1)", [operation]),

  drizzle: async (tx, operation) => {
    const db = drizzle(tx);
    await db.insert(effects).values({ operation });
    return db.execute(sql`SELECT count(*) FROM effects`);
  },

  kysely: async (tx, operation) => {
    const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: asPool(tx) }) });
    await db.insertInto("effects").values({ operation }).execute();
    return db.selectFrom("effects").selectAll().execute();
  },
};

/** libraries is a service with a route for each of them. */
export function libraries(pool: pg.Pool, options: PgOptions): Hono {
  const idempotent = honoIdempotency(new Kit(new PgStore(pool, options)), { principal: singlePrincipal("shop") });
  const app = new Hono();
  for (const [name, write] of Object.entries(writers)) {
    app.post(
      `/${name}`,
      idempotent({ scope: `effects:${name}` }, async (c) => {
        const { operation, status = 201 } = await c.req.json<{ operation: string; status?: number }>();
        await write(c.var.tx, operation);
        return c.json({ operation }, status as 201);
      }),
    );
  }
  return app;
}
