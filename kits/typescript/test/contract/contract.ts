// The contract of the adapters: nothing reaches the client before the commit; what
// reaches it is one whole answer, the one that is stored. Every idiom of answering, in
// each framework that a test names; those without a commit not where one fails.

import assert from "node:assert/strict";
import { after, test, type TestContext } from "node:test";
import * as timers from "node:timers/promises";
import { Service, type Engine, type CommitOutcome } from "./engines.js";
import { connected, type Framework, type Route } from "./frameworks.js";
import type { Idiom } from "./idioms.js";
import { Wire, type Client, type Seen } from "./wire.js";

process.setMaxListeners(0);

interface Served {
  readonly framework: string;
  readonly engine: Engine;
  readonly service: Service;
  readonly idioms: Framework["idioms"];
  hold(name: string, outcome: CommitOutcome): Promise<void>;
}

/** contract tests frameworks on a database. */
export async function contract(engine: Engine, frameworks: Record<string, Framework>): Promise<void> {
  const served: Served[] = [];
  for (const [framework, how] of Object.entries(frameworks)) {
    const { start, idioms } = how;
    const service = new Service(engine);
    const names = Object.keys(idioms);
    const route = (name: string): Route => ({
      path: `${how.base ?? ""}/${names.indexOf(name)}`,
      scope: framework,
      idiom: idioms[name]!,
      maxRunMs: idioms[name]!.want.code === "run_too_long" ? 500 : 30_000,
      write: (tx, operation) => engine.write(tx, operation),
    });
    const port = await start(service.kit, names.map(route), (close) => after(close));
    const hold = (name: string, outcome: CommitOutcome) => {
      const key = `${framework}/${outcome}/${names.indexOf(name)}`.replaceAll(" ", "_");
      return held(engine, service, connected(how, port), route(name), key, outcome);
    };
    served.push({ framework, engine, service, idioms, hold });
  }
  for (const one of served) {
    for (const outcome of ["commits", "is refused", "is lost"] as const) {
      test(`${one.framework} on ${engine.name}: a commit that ${outcome}`, (t) => all(one, outcome, t));
    }
  }
}

/** stored reports whether the idiom's answer is: that of other idioms has no commit that could fail. */
const stored = ({ want }: Idiom<never>) => want.kind === "done" || want.kind === "final";

/** all holds every idiom of a framework to the contract. */
async function all({ engine, service, idioms, hold }: Served, outcome: CommitOutcome, t: TestContext): Promise<void> {
  const names = Object.keys(idioms).filter((name) => outcome === "commits" || stored(idioms[name]!));
  const failures: string[] = [];
  const queue = [...names];
  const worker = async () => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
      try {
        await hold(name, outcome);
      } catch (error) {
        failures.push(`${name}: ${(error as Error).message}`);
      }
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  assert.ok(failures.length === 0, failures.join("\n"));
  await quiet();
  t.diagnostic(`${names.length} idioms`);
  assert.deepEqual(service.early, [], "bytes reached the client before the commit");
  assert.equal(engine.taken(), 0, "connections are not back in the pool");
  assert.equal(service.kit.http.runner.gate.size, 0, "the gate remembers a key");
}

/** open are the connections of a test, on which nothing more may come. */
const open: Client[] = [];

/** held holds one idiom to the contract. */
async function held(
  engine: Engine,
  service: Service,
  client: Client,
  route: Route,
  key: string,
  outcome: CommitOutcome,
) {
  const { want } = route.idiom;
  open.push(client);
  service.outcomes.set(key, outcome);
  const headers = { "Idempotency-Key": key, "Content-Type": "application/json", "Accept-Encoding": "gzip" };
  const plain = `GET ${route.path.replace(/[^/]+$/, "plain")} HTTP/1.1\r\nHost: shop.test\r\n\r\n`;
  const call = async (pipelined = false): Promise<Seen> => {
    const others = pipelined && client instanceof Wire ? client : undefined;
    others?.write(plain);
    client.send(route.path, headers);
    others?.write(plain);
    if (others !== undefined) {
      assert.equal((await others.answer()).body, "plain");
    }
    service.clients.set(key, client);
    const seen = await client.answer();
    service.clients.delete(key);
    if (others !== undefined) {
      assert.equal((await others.answer()).body, "plain");
    }
    return seen;
  };
  if (want.kind === "cut") {
    const end = await call().then(({ status }) => String(status), String);
    assert.match(end, /the connection was closed after (""|nothing)|NGHTTP2|^500$/);
    assert.equal(await engine.effects(key), 0, "effects");
    return;
  }
  // On a busy machine the database ends work first that is too long, and frees its key a little later.
  const uninterrupted = async (pipelined = false): Promise<Seen> => {
    for (const until = Date.now() + 15_000; ;) {
      const seen = await call(pipelined);
      const early = /"(idempotency_key_in_progress|idempotency_store_unavailable)"/.test(seen.body);
      if (want.code !== "run_too_long" || !early || Date.now() > until) {
        return seen;
      }
    }
  };
  const replayed = (seen: Seen) => seen.headers.get("idempotent-replayed");
  const storing = stored(route.idiom);
  if (storing && outcome === "is refused") {
    const seen = await call();
    assert.match(problem(seen), /transaction_aborted|idempotency_store_unavailable/);
    assert.equal(await engine.effects(key), 0, "effects of a commit that was refused");
    service.outcomes.set(key, "commits");
  }
  const first = await uninterrupted(outcome === "commits");
  assert.equal(first.status, want.status, `status; ${first.body.slice(0, 200)}`);
  assert.equal(replayed(first), null);
  if (want.body !== undefined) {
    assert.equal(first.body, want.body);
  }
  for (const [name, value] of Object.entries(want.headers ?? {})) {
    assert.equal(first.headers.get(name), value, name);
  }
  if (want.code !== undefined) {
    assert.equal(problem(first), want.code);
  }
  if (!storing) {
    assert.equal(first.headers.get("x-work"), null, "a header of work that was rolled back");
  }
  const again = await uninterrupted();
  assert.equal(again.status, first.status, "status of the repetition");
  assert.equal(replayed(again), storing ? "true" : null, "replayed");
  if (storing) {
    assert.equal(again.body, first.body, "body of the repetition");
    for (const name of ["content-type", "location", "idempotency-key-expires"]) {
      assert.equal(again.headers.get(name), first.headers.get(name), name);
    }
  }
  const effects = await engine.effects(key);
  assert.equal(Math.min(effects, 1), want.kind === "done" ? 1 : 0, "effects");
}

/** quiet waits until nothing more could come, and closes the connections. */
async function quiet(): Promise<void> {
  await timers.setTimeout(100);
  for (const client of open.splice(0)) {
    client.close();
    assert.equal(client.rest, "", "bytes after the answer");
  }
}

/** problem is the code of an error of the kit, which has no header of the work. */
function problem(seen: Seen): string {
  assert.equal(
    seen.headers.get("content-type"),
    "application/problem+json",
    `${seen.status} ${seen.body.slice(0, 200)}`,
  );
  for (const name of ["x-work", "location", "set-cookie", "etag", "link", "content-encoding"]) {
    assert.equal(seen.headers.get(name), null, `${name} of work that was rolled back`);
  }
  return (JSON.parse(seen.body) as { code: string }).code;
}
