// Long work on both databases, and behind each adapter.

import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import {
  FinalError,
  hasCode,
  Kit,
  KitError,
  type Code,
  type Options,
  type Store,
  type Work,
} from "@cronce/idempotency";
import { expressIdempotency } from "@cronce/idempotency/express";
import { fastifyIdempotency } from "@cronce/idempotency/fastify";
import { fetchIdempotency, singlePrincipal } from "@cronce/idempotency/fetch";
import { honoIdempotency } from "@cronce/idempotency/hono";
import { nextIdempotency } from "@cronce/idempotency/next";
import type { PgTx } from "@cronce/idempotency/pg";
import express from "express";
import { fastify } from "fastify";
import { Hono } from "hono";
import { database, insert, mysqlDatabase } from "../support/database.js";
import { intercepted } from "../support/intercepted.js";
import { later } from "../support/later.js";
import { eventually } from "../support/process.js";

/** Tx is what both drivers have. */
interface Tx {
  query(sql: string, values?: unknown[]): Promise<unknown>;
}

const is = (code: Code) => (error: unknown) => hasCode(error, code);
const pg = await database();
const mysql = await mysqlDatabase();
const engines: [string, Store<Tx>, string, (operation: string) => Promise<number>][] = [
  ["PostgreSQL", pg.store as unknown as Store<Tx>, insert, pg.effects],
  ["MariaDB", mysql.store as unknown as Store<Tx>, "INSERT INTO effects VALUES (?)", mysql.effects],
];

for (const [engine, store, sql, effects] of engines) {
  /** process is a service of its own on the database, with one route of long work. */
  const process = (fn: (work: Work<Tx>) => unknown, options: Options & { leaseMs?: number } = {}, on = store) => {
    const kit = new Kit(on, { logError: () => {}, ...options });
    const idempotent = fetchIdempotency(kit, { principal: singlePrincipal("shop") });
    const handler = idempotent.accept({ scope: `long:${engine}`, pollMs: 1_500 }, fn);
    const ask = (key: string, body = "{}", headers: Record<string, string> = {}) =>
      handler(
        new Request("http://service/long", {
          method: "POST",
          headers: { "Content-Type": "application/json", "Idempotency-Key": key, ...headers },
          body,
        }),
      );
    return { kit, ask };
  };
  const effect = (operation: string) => async (tx: Tx) => {
    await tx.query(sql, [operation]);
    return Response.json({ operation }, { status: 201, headers: { Location: `/of/${operation}` } });
  };
  const done = (ask: (key: string) => Promise<Response>, key: string, status = 201) =>
    eventually(async () => {
      const answer = await ask(key);
      assert.equal(answer.status, status, await answer.clone().text());
      return answer;
    });
  const problem = async (answer: Response) => [answer.status, ((await answer.json()) as { code: string }).code];

  test(`${engine}: a call is answered 202 with the progress, then with the reply`, async () => {
    const free = later<void>();
    let starts = 0;
    const { ask } = process(async (work) => {
      starts++;
      assert.deepEqual([work.request.method, work.request.target, work.request.json()], ["POST", "/long", { a: 1 }]);
      assert.deepEqual([work.key.value, work.previous()], ["told", undefined]);
      await work.progress({ done: 1, of: 2 });
      await free.promise;
      await work.finish(effect(`told ${engine}`));
    });
    const first = await ask("told", '{"a":1}');
    assert.deepEqual(
      [first.status, first.headers.get("Retry-After"), await first.json()],
      [202, "2", { progress: null }],
    );
    await eventually(async () => {
      assert.deepEqual(await (await ask("told", '{"a":1}')).json(), { progress: { done: 1, of: 2 } });
    });
    assert.deepEqual(await problem(await ask("told", '{"a":2}')), [409, "idempotency_key_payload_mismatch"]);
    free.resolve();
    const reply = await done((key) => ask(key, '{"a": 1}'), "told");
    assert.deepEqual(
      [reply.headers.get("Location"), reply.headers.get("Idempotent-Replayed"), await reply.json()],
      [`/of/told ${engine}`, "true", { operation: `told ${engine}` }],
    );
    assert.deepEqual([starts, await effects(`told ${engine}`)], [1, 1]);
  });

  test(`${engine}: a worker that has lost its lease cannot finish`, async () => {
    const stalled = later<Work<Tx>>();
    const tried = later<unknown>();
    const goOn = later<void>();
    const a = process(
      async (work) => {
        await work.progress({ page: 7 });
        stalled.resolve(work);
        await goOn.promise;
        await work.finish(effect(`fenced ${engine}`)).then(tried.resolve, tried.resolve);
      },
      { leaseMs: 1_000 },
    );
    let previous: unknown;
    const b = process(async (work) => {
      previous = work.previous();
      await work.finish(effect(`fenced ${engine}`));
    });
    await a.ask("fenced");
    const work = await stalled.promise;
    await eventually(async () => assert.ok(work.signal.aborted));
    assert.ok(is("lease_lost")(work.signal.reason));
    const reply = await (await done(b.ask, "fenced")).text();
    goOn.resolve();
    assert.ok(is("lease_lost")(await tried.promise));
    await assert.rejects(work.progress({}), is("lease_lost"));
    assert.deepEqual([previous, await effects(`fenced ${engine}`)], [{ page: 7 }, 1]);
    assert.equal(await (await a.ask("fenced")).text(), reply);
  });

  test(`${engine}: progress renews the lease`, async () => {
    const end = later<void>();
    let starts = 0;
    const { ask } = process(
      async (work) => {
        starts++;
        const began = performance.now();
        for (let n = 0; performance.now() - began < 2_200; n++) {
          await new Promise((resolve) => setTimeout(resolve, 50));
          await work.progress({ n });
          assert.equal((await ask("renewed")).status, 202);
        }
        end.resolve();
      },
      { leaseMs: 1_500 },
    );
    await ask("renewed");
    await end.promise;
    await done(ask, "renewed", 204);
    assert.equal(starts, 1);
  });

  test(`${engine}: work that fails for good is stored, other failures free the key`, async () => {
    const errors: Error[] = [new Error("the disk is full"), new FinalError("the file is empty")];
    const { ask } = process(() => {
      throw errors.shift() ?? new Error("started too often");
    });
    await ask("failing");
    const answer = await done(ask, "failing", 422);
    const { code, detail } = (await answer.json()) as Record<string, string>;
    assert.deepEqual([code, detail], ["operation_failed", "the file is empty"]);
    assert.equal((await ask("failing")).headers.get("Idempotent-Replayed"), "true");
    assert.equal(errors.length, 0);
  });

  test(`${engine}: an error in finish rolls back, and finish can be called again`, async () => {
    const { ask } = process(
      async (work) => {
        const failing = async (tx: Tx) => {
          await effect(`again ${engine}`)(tx);
          throw new Error("no");
        };
        await assert.rejects(work.finish(failing), /no/);
        await assert.rejects(
          work.finish(() => new Response(null, { status: 299 - 97 })),
          /not 202/,
        );
        await assert.rejects(
          work.finish(() => new Response("x".repeat(200))),
          is("reply_too_large"),
        );
        await assert.rejects(work.progress("x".repeat(200)), is("reply_too_large"));
        await work.finish(effect(`again ${engine}`));
        await assert.rejects(work.finish(effect(`again ${engine}`)), is("lease_lost"));
      },
      { maxStoredBody: 100 },
    );
    await ask("again");
    await done(ask, "again");
    assert.equal(await effects(`again ${engine}`), 1);
  });

  test(`${engine}: a commit whose answer is lost is found by its owner`, async () => {
    let lost = 0;
    const forgetful = intercepted(store, "resume", async (resume) => {
      const open = (await resume())!;
      const commit = open.commit.bind(open);
      return Object.assign(open, {
        commit: async (...ending: Parameters<typeof commit>) => {
          const expires = await commit(...ending);
          if (lost++ === 0) {
            throw new Error("connection lost");
          }
          return expires;
        },
      });
    });
    const { ask } = process((work) => work.finish(effect(`lost ${engine}`)), {}, forgetful);
    await ask("lost");
    await done(ask, "lost");
    assert.deepEqual([lost, await effects(`lost ${engine}`)], [1, 1]);
  });

  test(`${engine}: a late call starts nothing, and gets what is stored`, async () => {
    let starts = 0;
    const { ask } = process(() => void starts++);
    const late = { "Cronce-Send-Before": "2020-01-01T00:00:00Z" };
    assert.deepEqual(await problem(await ask("late", "{}", late)), [412, "run_too_late"]);
    assert.equal(starts, 0);
    await ask("late");
    await done((key) => ask(key, "{}", late), "late", 204);
  });

  test(`${engine}: work that ends its transaction itself is not repeated, although the store fails meanwhile`, async () => {
    let starts = 0;
    let resumes = 0;
    const failing = intercepted(store, "resume", async (resume) => {
      if (++resumes === 2) {
        throw new KitError("idempotency_store_unavailable", "no connection");
      }
      return resume();
    });
    const rollback = async (work: Work<Tx>) => {
      starts++;
      await work.finish(async (tx) => {
        await tx.query("/* hidden */ ROLLBACK");
        await effect(`ended ${engine}`)(tx); // is committed by itself
      });
    };
    const logged: string[] = [];
    const { ask } = process(rollback, { logError: (message) => void logged.push(message) }, failing);
    await ask("ended");
    const answer = await done(ask, "ended", 500);
    assert.equal(answer.headers.get("Idempotency-Body"), "omitted");
    assert.deepEqual([starts, await effects(`ended ${engine}`)], [1, 1]);
    await eventually(async () => assert.deepEqual(logged, ["long work failed"]));
  });

  test(`${engine}: a service that shuts down gives its long work to another, without its progress`, async () => {
    const told = later<void>();
    const a = process(async (work) => {
      await work.progress({ page: 7 });
      told.resolve();
      await new Promise((resolve) => work.signal.addEventListener("abort", resolve));
      throw work.signal.reason;
    });
    const previous: unknown[] = [];
    const b = process((work) => {
      previous.push(work.previous());
      return work.finish(effect(`handed ${engine}`));
    });
    await a.ask("handed");
    await told.promise;
    await assert.rejects(
      a.kit.shutdown(20),
      (e: Error) => is("service_shutting_down")(e) && /1 pieces/.test(e.message),
    );
    assert.deepEqual(await problem(await a.ask("handed")), [503, "service_shutting_down"]);
    await done(b.ask, "handed");
    assert.equal(await effects(`handed ${engine}`), 1);
    assert.deepEqual(previous, [undefined]);
    await b.kit.shutdown();
  });

  test(`${engine}: a shutdown waits for a request that takes its key, and its work is left to another`, async () => {
    const [taken, goOn] = [later<void>(), later<void>()];
    let accepted = false;
    const slow = intercepted(store, "accept", async (accept) => {
      const status = await accept();
      taken.resolve();
      await goOn.promise;
      accepted = true;
      return status;
    });
    let starts = 0;
    const work = (work: Work<Tx>) => {
      starts++;
      return work.finish(effect(`starting ${engine}`));
    };
    const a = process(work, {}, slow);
    const asked = a.ask("starting");
    await taken.promise;
    const stopped = a.kit.shutdown();
    goOn.resolve();
    await stopped;
    assert.ok(accepted);
    assert.deepEqual(await problem(await asked), [503, "service_shutting_down"]);
    assert.equal(starts, 0);
    await done(process(work).ask, "starting");
    assert.deepEqual([starts, await effects(`starting ${engine}`)], [1, 1]);
  });

  test(`${engine}: of many calls at once one starts the work`, async () => {
    let starts = 0;
    const { ask } = process(async (work) => {
      starts++;
      await work.finish(effect(`storm ${engine}`));
    });
    const statuses = await Promise.all(Array.from({ length: 8 }, async () => (await ask("storm")).status));
    assert.ok(
      statuses.every((status) => status === 202 || status === 201 || status === 409),
      String(statuses),
    );
    await done(ask, "storm");
    assert.deepEqual([starts, await effects(`storm ${engine}`)], [1, 1]);
  });
}

test("each adapter offers long work", async () => {
  const kit = new Kit(pg.store);
  const options = { principal: singlePrincipal("shop") };
  const fn = (name: string) => async (work: Work<PgTx>) => {
    await work.finish(async (tx) => {
      await tx.query(insert, [`${name} ${JSON.stringify(work.request.json())}`]);
      return Response.json({ name });
    });
  };
  const hono = new Hono().all("/", honoIdempotency(kit, options).accept({ scope: "hono" }, fn("hono")));
  const next = nextIdempotency(kit, options).accept({ scope: "next" }, fn("next"));
  const server = express()
    .all("/", expressIdempotency(kit, options).accept({ scope: "express" }, fn("express")))
    .listen(0, "127.0.0.1");
  after(() => server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const fast = fastify();
  const route = fastifyIdempotency(kit, options).accept({ scope: "fastify" }, fn("fastify"));
  fast.route({ ...route, method: ["GET", "POST"], url: "/" });
  await fast.listen({ port: 0, host: "127.0.0.1" });
  after(() => fast.close());
  const at = (address: unknown) => `http://127.0.0.1:${(address as AddressInfo).port}/`;
  const asked: Record<string, (init: RequestInit) => Response | Promise<Response>> = {
    hono: (init) => hono.request("/", init),
    next: (init) => next(new Request("http://service/", init)),
    express: (init) => fetch(at(server.address()), init),
    fastify: (init) => fetch(at(fast.server.address()), init),
  };
  for (const [name, ask] of Object.entries(asked)) {
    const headers = { "Idempotency-Key": "k", "Content-Type": "application/json" };
    const call = () => ask({ method: "POST", headers, body: '{"a":1}' });
    const first = await call();
    assert.deepEqual(
      [first.status, first.headers.get("Retry-After"), await first.json()],
      [202, "10", { progress: null }],
      name,
    );
    const reply = await eventually(async () => {
      const answer = await call();
      assert.equal(answer.status, 200, name);
      return answer;
    });
    assert.deepEqual([reply.headers.get("Idempotent-Replayed"), await reply.json()], ["true", { name }]);
    assert.equal(await pg.effects(`${name} {"a":1}`), 1);
    const read = await ask({ method: "GET" });
    assert.deepEqual([read.status, read.headers.get("Allow")], [405, "POST, PUT, PATCH, DELETE"], name);
    assert.equal(
      (await ask({ method: "POST", body: "{}", headers: { "Content-Type": "application/json" } })).status,
      400,
      name,
    );
  }
});
