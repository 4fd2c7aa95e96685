// Releases commission locks whose time is over: the job calls it every night,
// and each call takes effect once.

import { Kit } from "@cronce/idempotency";
import { honoIdempotency } from "@cronce/idempotency/hono";
import { PgStore } from "@cronce/idempotency/pg";
import { Hono } from "hono";
import type pg from "pg";

/** commissions is the service. `caller` returns who a token belongs to. */
export async function commissions(pool: pg.Pool, caller: (token: string) => string | undefined): Promise<Hono> {
  const kit = new Kit(new PgStore(pool));
  await kit.ready(); // checks the table and the role's privileges now, not at the first call
  const idempotent = honoIdempotency(kit, {
    principal: (c) => caller(c.req.header("Authorization")?.replace(/^Bearer /, "") ?? ""),
  });

  const app = new Hono();
  app.post(
    "/v1/admin/release-commission-locks",
    idempotent({ scope: "admin:release-commission-locks" }, async (c) => {
      const { scheduledAt } = await c.req.json<{ scheduledAt: string }>();
      const { rowCount } = await c.var.tx.query(
        `WITH released AS (
           UPDATE commission_locks SET released_at = $1
           WHERE locked_until <= $1 AND released_at IS NULL RETURNING partner, cents
         )
         INSERT INTO payouts (partner, cents) SELECT partner, sum(cents) FROM released GROUP BY partner`,
        [scheduledAt],
      );
      return c.json({ payouts: rowCount });
    }),
  );
  return app;
}
