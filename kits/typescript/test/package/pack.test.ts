// What `npm pack` would publish.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const read = (name: string) => readFileSync(root + name, "utf8");

test("what is packed from a fresh clone has its code, its types and its README, and nothing else", () => {
  const clone = mkdtempSync(join(tmpdir(), "clone-"));
  after(() => rmSync(clone, { recursive: true }));
  for (const name of [
    "LICENSE",
    "README.md",
    "package.json",
    "src",
    ...readdirSync(root).filter((n) => /^tsconfig/.test(n)),
  ]) {
    cpSync(root + name, join(clone, name), { recursive: true });
  }
  symlinkSync(`${root}node_modules`, join(clone, "node_modules"));
  const out = execFileSync("npm", ["pack", "--dry-run", "--json", "--silent"], { cwd: clone, encoding: "utf8" });
  const parsed = JSON.parse(out.slice(out.search(/^[[{]/m))) as Record<string, Packed> | Packed[];
  const [packed] = Object.values(parsed);
  const files = packed!.files.map((f) => f.path).sort();
  assert.ok(files.includes("README.md") && files.includes("package.json"));
  for (const file of files) {
    assert.match(
      file,
      /^(README\.md|LICENSE|package\.json|dist\/cjs\/package\.json|dist\/(cjs\/)?([a-z]+\/)?[a-z0-9]+\.(js|d\.ts))$/,
    );
  }
  const targets = (entry: Entry): string[] =>
    Object.values(entry).flatMap((e) => (typeof e === "string" ? e : targets(e)));
  for (const target of targets((JSON.parse(read("package.json")) as { exports: Entry }).exports)) {
    assert.ok(files.includes(target.slice(2)), target);
  }
});

interface Entry {
  [condition: string]: string | Entry;
}

interface Packed {
  files: { path: string }[];
}

test("the package depends on nothing at run time", () => {
  const manifest = JSON.parse(read("package.json")) as Record<string, object>;
  assert.equal(manifest["dependencies"], undefined);
  assert.ok(!read("package-lock.json").includes('"resolved"'), "the lock file names a registry");
});

test("every entry can be imported and required", async () => {
  const { exports } = JSON.parse(read("package.json")) as { exports: object };
  const entries = Object.keys(exports).map((entry) => `@cronce/idempotency${entry.slice(1)}`);
  const code = `for (const e of ${JSON.stringify(entries)}) console.log(Object.keys(require(e)).sort().join());`;
  const required = execFileSync(process.execPath, ["--input-type=commonjs", "-e", code], {
    cwd: root,
    encoding: "utf8",
  });
  const imported = await Promise.all(
    entries.map(async (e) =>
      Object.keys((await import(e)) as object)
        .sort()
        .join(),
    ),
  );
  assert.deepEqual(required.trim().split("\n"), imported);
});

test("the types are found by TypeScript's node16, for import and for require", () => {
  const flags = "--ignoreConfig --noEmit --strict --skipLibCheck --target es2022 --types node";
  const modules = ["--module", "node16", "--moduleResolution", "node16"];
  const files = ["test/package/types.ts", "test/package/types.cts"];
  execFileSync("npx", ["tsc", ...flags.split(" "), ...modules, ...files], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
  });
});
