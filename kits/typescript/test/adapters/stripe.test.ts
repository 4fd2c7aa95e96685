// Stripe's client for Node.js against the kit, through a proxy that loses
// requests and answers.

import assert from "node:assert/strict";
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { serve } from "@hono/node-server";
import { Kit, type Problem, type RenderedProblem } from "@cronce/idempotency";
import { honoIdempotency } from "@cronce/idempotency/hono";
import { Hono } from "hono";
import Stripe from "stripe";
import { database, insert } from "../support/database.js";

const db = await database();

/** asStripe gives the kit's problems the shape by which Stripe's clients decide what to repeat. */
function asStripe(p: Problem): RenderedProblem {
  const error = (status: number, type: string, code: string, repeat: boolean): RenderedProblem => ({
    status,
    headers: { "Content-Type": "application/json", "Stripe-Should-Retry": String(repeat) },
    body: JSON.stringify({ error: { type, code, message: p.detail } }),
  });
  switch (p.code) {
    case "idempotency_key_in_progress":
      return error(429, "idempotency_error", "lock_timeout", true);
    case "idempotency_key_payload_mismatch":
      return error(400, "idempotency_error", p.code, false);
    default:
      return error(p.status, "api_error", p.code, p.status === 503);
  }
}

const kit = new Kit(db.store, { waitMs: 60_000, storeTimeoutMs: 60_000, renderProblem: asStripe });
const idempotent = honoIdempotency(kit, { principal: (c) => c.req.header("Authorization") && "acct_1" });
const app = new Hono();
app.post(
  "/v1/charges",
  idempotent({ scope: "charges" }, async (c) => {
    const form = new URLSearchParams(await c.req.text());
    const operation = form.get("description")!;
    await c.var.tx.query(insert, [operation]);
    return c.json({ id: `ch_${operation}`, object: "charge", amount: Number(form.get("amount")) });
  }),
);
const service = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" });
after(() => void service.close());
if (!service.listening) {
  await new Promise((resolve) => service.once("listening", resolve));
}
const upstream = (service.address() as AddressInfo).port;

type Exchange = (incoming: IncomingMessage, outgoing: ServerResponse, body: Buffer) => Promise<void>;

/** send returns the service's whole answer. */
function send(incoming: IncomingMessage, body: Buffer): Promise<{ response: IncomingMessage; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const { method, headers, url } = incoming;
    const request = forward({ host: "127.0.0.1", port: upstream, method, headers, path: url }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => resolve({ response, body: Buffer.concat(chunks) }));
    });
    request.on("error", reject);
    request.end(body);
  });
}

const pass: Exchange = async (incoming, outgoing, body) => {
  const answer = await send(incoming, body);
  outgoing.writeHead(answer.response.statusCode!, answer.response.headers).end(answer.body);
};

const pending: Promise<unknown>[] = [];

const faults: Record<string, Exchange> = {
  "a lost request": async (_incoming, outgoing) => void outgoing.socket?.resetAndDestroy(),
  "a lost answer": async (incoming, outgoing, body) => {
    await send(incoming, body);
    outgoing.socket?.resetAndDestroy();
  },
  "an impatient proxy": async (incoming, outgoing, body) => {
    pending.push(send(incoming, body));
    outgoing.socket?.resetAndDestroy();
  },
  "a bad gateway": async (incoming, outgoing, body) => {
    await send(incoming, body);
    outgoing.writeHead(502, { "Content-Type": "text/html" }).end("<html>502</html>");
  },
  "half an answer": async (incoming, outgoing, body) => {
    const answer = await send(incoming, body);
    outgoing.writeHead(200, { "Content-Length": answer.body.length });
    outgoing.write(answer.body.subarray(0, answer.body.length / 2), () => outgoing.socket?.resetAndDestroy());
  },
  "a request sent twice": async (incoming, outgoing, body) => {
    await send(incoming, body);
    await pass(incoming, outgoing, body);
  },
};

/** proxy does the nth fault of a key's plan to its nth request, and passes what comes after. */
async function proxy(plan: (key: string) => Exchange[]): Promise<Stripe> {
  const seen = new Map<string, number>();
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const key = String(incoming.headers["idempotency-key"]);
      const n = seen.get(key) ?? 0;
      seen.set(key, n + 1);
      void (plan(key)[n] ?? pass)(incoming, outgoing, Buffer.concat(chunks));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(async () => {
    await Promise.allSettled(pending);
    server.close().closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const stripe = new Stripe("sk_test_alice", {
    protocol: "http",
    host: "127.0.0.1",
    port,
    maxNetworkRetries: 8,
    telemetry: false,
  });
  // No pause between the retries.
  Object.assign(stripe, { getInitialNetworkRetryDelay: () => 0, getMaxNetworkRetryDelay: () => 0 });
  return stripe;
}

/** charge repeats what stripe-node itself does not: a call whose answer broke off in its body. */
async function charge(stripe: Stripe, operation: string, amount: number, key?: string): Promise<{ id: string }> {
  const charged = stripe.charges.create(
    { amount, currency: "eur", description: operation },
    key === undefined ? {} : { idempotencyKey: key },
  );
  try {
    return await charged;
  } catch (error) {
    if (key === undefined || !(error instanceof Stripe.errors.StripeConnectionError)) {
      throw error;
    }
    return charge(stripe, operation, amount, key);
  }
}

for (const [name, fault] of Object.entries(faults)) {
  test(`stripe-node makes one charge, whatever ${name} does`, async () => {
    const stripe = await proxy(() => [fault, fault]);
    const drawn = name === "half an answer" ? [] : [undefined]; // stripe-node draws the key itself
    for (const key of [`key-of-${name.replaceAll(" ", "-")}`, ...drawn]) {
      const operation = `${name} ${String(key === undefined)}`;
      assert.equal((await charge(stripe, operation, 500, key)).id, `ch_${operation}`);
      assert.equal(await db.effects(operation), 1);
    }
  });
}

test("stripe-node makes one charge per operation in a storm of faults", async () => {
  const all = Object.values(faults);
  const stripe = await proxy((key) =>
    Array.from({ length: key.length % 6 }, (_, i) => all[(key.charCodeAt(key.length - 1) + 7 * i) % all.length]!),
  );
  const operations = Array.from({ length: 40 }, (_, i) => `storm-${"x".repeat(i % 7)}-${i}`);
  await Promise.all(operations.map((operation) => charge(stripe, operation, 500, operation)));
  for (const operation of operations) {
    assert.equal(await db.effects(operation), 1, operation);
  }
});

test("stripe-node knows an idempotency error", async () => {
  const stripe = await proxy(() => []);
  await charge(stripe, "known", 500, "known");
  await assert.rejects(
    charge(stripe, "known", 501, "known"),
    (error) => error instanceof Stripe.errors.StripeIdempotencyError && error.statusCode === 400,
  );
  assert.equal(await db.effects("known"), 1);
});
