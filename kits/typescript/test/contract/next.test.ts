// The contract on the real server of Next.js, and what is special about it.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Kit, KitError } from "@cronce/idempotency";
import { nodeIdempotency } from "@cronce/idempotency/node";
import { contract } from "./contract.js";
import { postgres } from "./engines.js";
import { nextFrameworks, served } from "./next.js";
import { database } from "../support/database.js";

await contract(await postgres(), nextFrameworks);

const url = `http://127.0.0.1:${await served((close) => after(close))}`;
const db = await database();

test("Next 16: an API route whose body was parsed is refused", async () => {
  const idempotent = nodeIdempotency(new Kit(db.store, { logError: () => {} }), { principal: () => "alice" });
  Object.assign(globalThis, {
    contractOfPages: idempotent({ scope: "parsed" }, (_, response) => response.end("paid")),
  });
  for (const body of ['{"cents":100}', '{"cents":999}']) {
    const headers = { "Idempotency-Key": "a", "Content-Type": "application/json" };
    const answer = await fetch(`${url}/api/parsed`, { method: "POST", headers, body });
    assert.equal(((await answer.json()) as { code: string }).code, "request_body_consumed");
  }
});

test("Next 16: the kit in its bundle commits redirects, and takes back the cookies of rolled-back work", async () => {
  const ends: string[] = [];
  let refuse = false;
  const open = {
    tx: {},
    commit: async () => {
      if (refuse) {
        throw new KitError("transaction_aborted", "refused");
      }
      ends.push("commit");
      return new Date(Date.now() + 60_000);
    },
    rollback: async () => ends.push("rollback"),
  };
  Object.assign(globalThis, { bundledStore: { begin: async () => ({ open, status: { held: true } }) } });
  const call = async (body: string) => {
    const init: RequestInit = { method: "POST", headers: { "Idempotency-Key": "a" }, body, redirect: "manual" };
    const { status, headers } = await fetch(`${url}/bundled`, init);
    return [status, headers.get("location"), headers.get("set-cookie")];
  };
  assert.deepEqual(await call("redirect"), [307, "/payments/1", "session=1; Path=/"]);
  assert.deepEqual(await call("throw"), [500, null, null]);
  refuse = true;
  assert.deepEqual(await call("redirect"), [500, null, null]);
  assert.deepEqual(ends, ["commit", "rollback"]);
});
