// A target of many tenants: one scope for all of them, and the tenant in the principal.

import { Kit } from "@cronce/idempotency";
import { honoIdempotency } from "@cronce/idempotency/hono";
import { PgStore } from "@cronce/idempotency/pg";
import { Hono } from "hono";
import type pg from "pg";

/** billing is the service. `account` returns whom the authentication has proved. */
export function billing(pool: pg.Pool, account: (header: string | undefined) => string | undefined): Hono {
  const kit = new Kit(new PgStore(pool));
  const app = new Hono();
  const idempotent = honoIdempotency(kit, {
    principal: (c) => {
      const caller = account(c.req.header("Authorization"));
      return caller && `${caller} for ${c.req.param("key")}`;
    },
  });
  app.post(
    "/v1/tenants/:key/bill",
    idempotent({ scope: "route:POST_/v1/tenants/{key}/bill" }, async (c) => {
      await c.var.tx.query("INSERT INTO bills (tenant) VALUES ($1)", [c.req.param("key")]);
      return c.body(null, 201);
    }),
  );
  return app;
}
