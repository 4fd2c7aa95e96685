import assert from "node:assert/strict";
import { test } from "node:test";

import { Kit, type Store } from "@cronce/idempotency";

test("a kit says how long it keeps keys", () => {
  const kit = new Kit({} as Store<unknown>, { ttlMs: 90_999, ttlsMs: { "event:*": 30 * 24 * 60 * 60 * 1000 } });
  assert.deepEqual(JSON.parse(JSON.stringify(kit.lifetimes())), {
    "idempotency-key-lifetime": "PT90S",
    scopes: { "event:*": "PT2592000S" },
  });
  assert.equal(new Kit({} as Store<unknown>).lifetimes()["idempotency-key-lifetime"], "PT86400S");
});
