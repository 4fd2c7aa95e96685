// Errors as services and other copies of the package see them.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { FinalError, hasCode, Kit, KitError, NotDone, problemOf } from "@cronce/idempotency";
import express from "express";
import fastify from "fastify";
import { database, insert } from "../support/database.js";

const db = await database();

test("an error of the kit carries the status of its answer", async () => {
  const error = new KitError("idempotency_key_payload_mismatch", "secret");
  assert.deepEqual([error.status, error.statusCode], [409, 409]);
  assert.equal(problemOf(error).status, 409);
  assert.equal(problemOf(error, 422).status, 422);
  assert.equal(problemOf(new KitError("idempotency_store_unavailable", "secret")).status, 503);
  assert.doesNotMatch(JSON.stringify(problemOf(error)), /secret/);
});

test("frameworks answer an event that is in progress with 409", async () => {
  let finish!: () => void;
  const op = { scope: "event:a/b", key: "busy" };
  const running = new Promise<void>((begun) => {
    const work = new Kit(db.store).once(op, async () => {
      begun();
      await new Promise<void>((resolve) => (finish = resolve));
    });
    after(() => work);
  });
  await running;
  const other = new Kit(db.store, { waitMs: 0 });
  const app = express();
  app.set("env", "test"); // Express prints errors otherwise
  app.post("/event", async (_request, response) => {
    await other.once(op, async () => {});
    response.end();
  });
  const server = app.listen(0, "127.0.0.1");
  await new Promise((listening) => server.once("listening", listening));
  const { port } = server.address() as AddressInfo;
  assert.equal((await fetch(`http://127.0.0.1:${port}/event`, { method: "POST" })).status, 409);
  server.close();
  const quick = fastify();
  quick.post("/event", () => other.once(op, async () => {}));
  assert.equal((await quick.inject({ method: "POST", url: "/event" })).statusCode, 409);
  finish();
});

test("errors of another copy of the package are known", async () => {
  const require = createRequire(import.meta.url); // the CommonJS build is a copy of its own
  const copy = require("@cronce/idempotency") as typeof import("@cronce/idempotency");
  const { PgStore } = require("@cronce/idempotency/pg") as typeof import("@cronce/idempotency/pg");
  assert.notEqual(copy.FinalError, FinalError);

  class Declined extends FinalError {}
  assert.ok(new copy.FinalError("") instanceof FinalError && new Declined("") instanceof copy.FinalError);
  assert.ok(!(new copy.FinalError("") instanceof Declined) && !(new copy.NotDone("") instanceof FinalError));
  assert.ok(!(new Error("") instanceof FinalError) && new Declined("") instanceof Declined);
  for (const other of [undefined, null, "", {}]) {
    assert.ok(!((other as unknown) instanceof FinalError));
  }

  const kit = new Kit(new PgStore(db.pool, { schema: db.schema }), { waitMs: 200 });
  const final = () =>
    kit.once({ scope: "copy", key: "final" }, async (tx) => {
      await tx.query(insert, ["copy"]);
      throw new copy.FinalError("declined");
    });
  await assert.rejects(final(), /declined/);
  await assert.rejects(final(), FinalError);
  assert.equal(await db.effects("copy"), 0);

  const call = { scope: "copy", key: "call" };
  const not = { do: () => Promise.reject(new copy.NotDone("no connection")) };
  await assert.rejects(kit.callOnce(call, not), NotDone);
  assert.equal((await kit.callOnce(call, { do: async () => "sent" })).result, "sent");

  const mismatch = kit.once({ ...call, payload: "other" }, async () => {});
  await assert.rejects(mismatch, (error) => hasCode(error, "idempotency_key_payload_mismatch"));
});
