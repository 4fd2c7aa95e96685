// The conformance suite against this kit, alone and together with the kit for Go
// on one table; and what is left when the process is killed again and again.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { text } from "node:stream/consumers";
import pg from "pg";
import { after } from "node:test";
import { testURL } from "../support/database.js";
import { conformService, eventually, freePort, goPrograms, supervise } from "../support/process.js";

const url = testURL("TEST_POSTGRES_URL");
const programs = goPrograms("./cmd/scheduler", "./examples/conform");

async function schema(): Promise<{ SCHEMA: string; DATABASE_URL: string }> {
  const name = `conform_${process.pid}_${Math.random().toString(36).slice(2)}`;
  after(async () => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(`DROP SCHEMA IF EXISTS ${name} CASCADE`);
    await client.end();
  });
  return { SCHEMA: name, DATABASE_URL: url };
}

interface Report {
  conforms: boolean;
  results: { case: string; outcome: string; detail?: string }[];
}

/** conform runs the suite against instances; it starts and restarts the one of this kit by itself. */
async function conform(env: Record<string, string>, ...others: number[]): Promise<void> {
  const port = await freePort();
  const urls = [...others, port].flatMap((p) => ["--url", `http://127.0.0.1:${p}`]);
  const child = spawn(`${programs}/scheduler`, ["conform", "--json", ...urls, "--", process.execPath, conformService], {
    env: { ...process.env, ...env, LISTEN: `127.0.0.1:${port}` },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [out] = await Promise.all([text(child.stdout), once(child, "close")]);
  const report = JSON.parse(out) as Report;
  assert.deepEqual(
    report.results.filter((r) => r.outcome !== "passed"),
    [],
  );
  assert.ok(report.conforms && report.results.length >= 34);
}

test("the kit conforms", async () => {
  await conform(await schema());
});

test("services in Go and TypeScript share one table", async () => {
  const env = await schema();
  const port = await freePort();
  supervise(`${programs}/conform`, [], { ...env, LISTEN: `127.0.0.1:${port}` });
  await eventually(() => fetch(`http://127.0.0.1:${port}/conform`)); // it creates the tables
  await conform(env, port);
});

test("long work that one language began is finished by the other", async () => {
  const env = await schema();
  const services: Record<string, [string, string[]]> = {
    Go: [`${programs}/conform`, []],
    "Node.js": [process.execPath, [conformService]],
  };
  const ports: Record<string, number> = {};
  for (const [name, [command, args]] of Object.entries(services)) {
    const port = (ports[name] = await freePort());
    supervise(command, args, { ...env, LISTEN: `127.0.0.1:${port}` });
    await eventually(() => fetch(`http://127.0.0.1:${port}/conform`)); // it creates the tables
  }
  for (const [first, second] of [
    ["Go", "Node.js"],
    ["Node.js", "Go"],
  ]) {
    const ask = (name: string, fault: string) =>
      fetch(`http://127.0.0.1:${ports[name]!}/conform/long`, {
        method: "POST",
        headers: {
          Authorization: "Bearer alice",
          "Content-Type": "application/json",
          "Idempotency-Key": `taken-over-from-${first!}`,
          "Conform-Fault": fault,
        },
        body: JSON.stringify({ operation: `of ${first!}` }),
      });
    await ask(first!, "crash").catch(() => {}); // it may die before it answers
    const done = await eventually(async () => {
      const answer = await ask(second!, "");
      assert.equal(answer.status, 201);
      return answer;
    });
    const text = await done.text();
    const again = await eventually(() => ask(first!, ""));
    assert.deepEqual([again.status, await again.text()], [201, text], `${first!} replays what ${second!} did`);
    const counted = await fetch(
      `http://127.0.0.1:${ports[second!]!}/conform/effects?operation=${encodeURIComponent(`of ${first!}`)}`,
    );
    assert.deepEqual(await counted.json(), { count: 1 });
  }
});

test("a process that is killed again and again leaves each effect once", async () => {
  const env = await schema();
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const service = supervise(process.execPath, [conformService], { ...env, LISTEN: `127.0.0.1:${port}` });
  await eventually(() => fetch(`${base}/conform`));
  const call = (operation: string) =>
    eventually(async () => {
      const answer = await fetch(`${base}/conform/effects`, {
        method: "POST",
        headers: {
          Authorization: "Bearer alice",
          "Content-Type": "application/json",
          "Idempotency-Key": operation,
          "Conform-Fault": "hold=30",
        },
        body: JSON.stringify({ operation }),
      });
      assert.equal(answer.status, 201);
      return answer.text();
    });
  const operations = Array.from({ length: 60 }, (_, i) => `killed-${i}`);
  let running = true;
  const killing = (async () => {
    for (let kills = 0; running && kills < 6; kills++) {
      await eventually(() => fetch(`${base}/conform`));
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 150));
      service.kill("SIGKILL");
    }
  })();
  const told = new Map<string, string>();
  const next = operations.values();
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (const operation of next) {
        told.set(operation, await call(operation));
      }
    }),
  );
  running = false;
  await killing;
  assert.ok(service.starts > 1, "nothing was killed");
  for (const operation of operations) {
    const counted = await eventually(() => fetch(`${base}/conform/effects?operation=${operation}`));
    assert.deepEqual(await counted.json(), { count: 1 }, operation);
    assert.equal(await call(operation), told.get(operation), "every caller is told the same");
  }
});
