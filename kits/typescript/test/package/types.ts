// What has to compile: the types of handlers in their frameworks. Nothing of it runs.

import { OpenAPIHono, createRoute, z } from "@hono/zod-openapi";
import { zValidator } from "@hono/zod-validator";
import { Hono } from "hono";
import { hc } from "hono/client";
import type { NextRequest } from "next/server.js";
import { Kit } from "@cronce/idempotency";
import { honoIdempotency, singlePrincipal } from "@cronce/idempotency/hono";
import { nextIdempotency } from "@cronce/idempotency/next";
import { PgStore } from "@cronce/idempotency/pg";

declare const pool: import("pg").Pool;
const kit = new Kit(new PgStore(pool));
const idempotent = honoIdempotency(kit, { principal: singlePrincipal("x") });
const body = z.object({ cents: z.number() });
const app = new Hono()
  .post("/orders/:id/pay", zValidator("json", body), idempotent({ scope: "pay" }), async (c) => {
    const { cents } = c.req.valid("json");
    const id: string = c.req.param("id");
    await c.var.tx.query("SELECT $1, $2", [id, cents]);
    return c.json({ id, cents }, 201);
  })
  .post("/plain/:id", idempotent({ scope: "plain" }), (c) => c.json({ id: c.req.param("id").length }));
const client = hc<typeof app>("http://x");
export async function call() {
  const answer = await client.orders[":id"].pay.$post({ param: { id: "1" }, json: { cents: 1 } });
  if (answer.status !== 201) {
    throw new Error((await answer.json()).error.message); // of the validator
  }
  const { id, cents } = await answer.json();
  const { id: n } = await (await client.plain[":id"].$post({ param: { id: "1" } })).json();
  return [id.length, cents.toFixed(), n.toFixed()];
}
export const api = new OpenAPIHono();
const route = createRoute({
  method: "post",
  path: "/pay/{id}",
  middleware: [idempotent({ scope: "openapi" })] as const,
  request: { params: z.object({ id: z.string() }), body: { content: { "application/json": { schema: body } } } },
  responses: {
    201: { description: "paid", content: { "application/json": { schema: z.object({ id: z.string() }) } } },
  },
});
api.openapi(route, async (c) => {
  const { id } = c.req.valid("param");
  const { cents } = c.req.valid("json");
  await c.var.tx.query("SELECT $1", [cents]);
  return c.json({ id }, 201);
});

const routes = nextIdempotency(kit, { principal: singlePrincipal("x") });
type Context = { params: Promise<{ id: string }> };
export const POST: (request: NextRequest, context: Context) => Promise<Response> = routes(
  { scope: "next" },
  async (request: NextRequest, tx, { params }: Context) => {
    await tx.query("SELECT $1, $2", [(await params).id, request.nextUrl.pathname]);
    return Response.json({ id: request.cookies.get("id")?.value });
  },
);
export const PUT: typeof POST = routes({ scope: "plain" }, async (request) => Response.json(await request.json()));
