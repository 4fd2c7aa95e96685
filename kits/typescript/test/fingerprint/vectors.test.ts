// The vectors that the kits of all languages share.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  canonicalJSON,
  eventScope,
  hasCode,
  parseKey,
  payloadFingerprint,
  requestFingerprint,
  vendorKey,
  type RequestLine,
} from "@cronce/idempotency";

const file = new URL("../../../../../idempotency/testdata/vectors.json", import.meta.url);
const vectors = JSON.parse(readFileSync(file, "utf8")) as {
  requests: (RequestLine & { body: string; fingerprint: string })[];
  payloads: { payload: string; fingerprint: string }[];
  keys: { header: string; key: string | null }[];
  canonical: { text: string; form: string | null }[];
  eventScopes: { event: string; handler: string; scope: string }[];
  vendorKeys: { scope: string; principal: string; key: string; vendor: string }[];
};

for (const v of vectors.requests) {
  test(`the fingerprint of ${v.method} ${v.host}${v.target} ${v.contentType} ${v.body} is that of the Go kit`, () => {
    assert.equal(requestFingerprint(v, Buffer.from(v.body)), v.fingerprint);
  });
}

test("payloads have the fingerprints of the Go kit", () => {
  for (const v of vectors.payloads) {
    assert.equal(payloadFingerprint(v.payload), v.fingerprint, v.payload);
    assert.equal(payloadFingerprint(Buffer.from(v.payload)), v.fingerprint, v.payload);
  }
  const json = vectors.payloads.find((v) => v.payload === '{"a":[1,2],"b":null}');
  assert.equal(payloadFingerprint({ b: null, a: [1, 2] }), json?.fingerprint);
});

test("headers hold the keys that the Go kit reads", () => {
  for (const v of vectors.keys) {
    if (v.key === null) {
      assert.throws(
        () => parseKey(v.header),
        (e) => hasCode(e, "invalid_idempotency_key"),
        v.header,
      );
    } else {
      assert.equal(parseKey(v.header), v.key);
    }
  }
});

test("JSON has the canonical form of the Go kit", () => {
  for (const v of vectors.canonical) {
    assert.equal(canonicalJSON(Buffer.from(v.text)) ?? null, v.form, v.text);
  }
  assert.equal(canonicalJSON(Buffer.from([0x22, 0xff, 0x22])), undefined, "not UTF-8");
  assert.equal(canonicalJSON(Buffer.from("[".repeat(100_000) + "]".repeat(100_000))), undefined, "too deep");
});

test("scopes and vendor keys are those of the Go kit", () => {
  for (const v of vectors.eventScopes) {
    assert.equal(eventScope(v.event, v.handler), v.scope);
  }
  for (const v of vectors.vendorKeys) {
    assert.equal(vendorKey({ scope: v.scope, principal: v.principal, value: v.key }), v.vendor);
  }
});
