// The client for schedules made at run time.

import assert from "node:assert/strict";
import { test } from "node:test";
import { at, ScheduleError, Schedules } from "@cronce/idempotency/schedules";

/** server answers each request with the next answer, and keeps what was asked. */
function server(...answers: (Response | Error)[]) {
  const asked: string[] = [];
  const schedules = new Schedules({
    url: "https://cronce.example.com/",
    token: "cronce_x",
    retryForMs: 1000,
    fetch: async (address, init) => {
      const headers = new Headers(init?.headers);
      asked.push(`${init?.method} ${String(address)} ${headers.get("Authorization")} ${String(init?.body ?? "")}`);
      const answer = answers.length > 1 ? answers.shift()! : answers[0]!;
      if (answer instanceof Error) {
        throw answer;
      }
      return answer.clone();
    },
  });
  return { schedules, asked };
}

const problem = (status: number, code: string) => new Response(JSON.stringify({ code, detail: "why" }), { status });

test("a put is repeated until it is answered", async () => {
  const { schedules, asked } = server(
    new TypeError("fetch failed"),
    problem(503, "ledger_unavailable"),
    new Response('{"result":"created","revision":1}', { status: 201 }),
  );
  const got = await schedules.put("reminder", "acme", {
    ...at(new Date("2026-12-24T18:00:00.900Z")),
    data: { order: 7 },
    until: new Date("2026-12-31T00:00:00Z"),
    generation: 3,
  });
  assert.equal(got.result, "created");
  const want =
    "PUT https://cronce.example.com/v1/jobs/reminder/schedules/acme Bearer cronce_x " +
    '{"schedule":"at(2026-12-24T18:00:00)","timezone":"UTC","data":{"order":7},"until":"2026-12-31T00:00:00Z","generation":3}';
  assert.deepEqual(asked, [want, want, want]);
});

test("a refusal is not repeated", async () => {
  const { schedules, asked } = server(problem(409, "later_generation"));
  await assert.rejects(
    schedules.put("reminder", "acme", { schedule: "@daily" }),
    (e) => e instanceof ScheduleError && e.code === "later_generation" && e.status === 409,
  );
  assert.equal(asked.length, 1);
});

test("an unknown schedule is undefined", async () => {
  const { schedules } = server(problem(404, "unknown_schedule"));
  assert.equal(await schedules.get("reminder", "acme"), undefined);
});

test("many changes have a result each, and an answer that was cut short is asked for again", async () => {
  const { schedules, asked } = server(
    new Response('{"line":1,"key":"a","result":"created","revision":1}\n'),
    new Response(
      '{"line":1,"key":"a","result":"unchanged","revision":1}\n{"line":2,"key":"b","error":{"code":"unknown_schedule","detail":"why"}}\n',
    ),
  );
  const got = await schedules.putMany("reminder", [
    { key: "a", schedule: "@daily" },
    { key: "b", delete: true },
  ]);
  assert.equal(got.length, 2);
  assert.ok("error" in got[1]! && got[1].error.code === "unknown_schedule");
  assert.match(asked[1]!, /\{"schedule":"@daily","key":"a"\}\n\{"key":"b","delete":true\}\n$/);
});

test("a deletion has its generation in the query", async () => {
  const { schedules, asked } = server(new Response('{"result":"deleted"}'));
  await schedules.delete("reminder", "acme", 4);
  assert.match(asked[0]!, /^DELETE https:\/\/cronce.example.com\/v1\/jobs\/reminder\/schedules\/acme\?generation=4 /);
});
