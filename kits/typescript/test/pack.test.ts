// What `npm pack` would publish.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (name: string) => readFileSync(root + name, "utf8");

test("the package has its code, its types and its README, and nothing else", () => {
  const out = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: root, encoding: "utf8" });
  const parsed = JSON.parse(out) as Record<string, Packed> | Packed[];
  const [packed] = Object.values(parsed);
  const files = packed!.files.map((f) => f.path).sort();
  assert.ok(files.includes("README.md") && files.includes("package.json"));
  for (const file of files) {
    assert.match(file, /^(README\.md|LICENSE|package\.json|dist\/[a-z0-9]+\.(js|d\.ts))$/);
  }
  const { exports } = JSON.parse(read("package.json")) as { exports: Record<string, Record<string, string>> };
  for (const target of Object.values(exports).flatMap((e) => Object.values(e))) {
    assert.ok(files.includes(target.slice(2)), target);
  }
});

interface Packed {
  files: { path: string }[];
}

test("the package depends on nothing at run time", () => {
  const manifest = JSON.parse(read("package.json")) as Record<string, object>;
  assert.equal(manifest["dependencies"], undefined);
  assert.ok(!read("package-lock.json").includes('"resolved"'), "the lock file names a registry");
});

test("every entry can be imported", async () => {
  for (const entry of ["", "/pg", "/mysql2", "/fetch", "/hono", "/node", "/express", "/fastify", "/next", "/client"]) {
    assert.ok(Object.keys(await import(`@cronce/idempotency${entry}`)).length > 0, entry);
  }
});
