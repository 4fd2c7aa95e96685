// The README's table of what holds says what the contract tests.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { expressIdioms } from "../contract/express.js";
import { fastifyIdioms, slowFastifyIdioms } from "../contract/fastify.js";
import { fetchIdioms } from "../contract/fetch.js";
import { honoIdioms } from "../contract/hono.js";
import type { Idiom, Want } from "../contract/idioms.js";
import { nextIdioms } from "../contract/next.js";
import { nodeIdioms, socketIdioms, streamIdioms } from "../contract/node.js";

const root = new URL("../../../", import.meta.url);

/** The rows, each with idioms of the contract, or with tests of outside.test.ts. */
const rows: [beginning: string, ...cases: (Idiom<never> | string | undefined)[]][] = [
  [
    "answers 200 to 399",
    nodeIdioms["end with a body"],
    nodeIdioms["redirect"],
    expressIdioms["json"],
    fastifyIdioms["hijack and raw"],
    honoIdioms["c.res"],
    fetchIdioms["a stream"],
  ],
  [
    "throws its answer",
    nextIdioms["redirect"],
    nextIdioms["permanentRedirect"],
    fetchIdioms["throws a Response"],
    honoIdioms["throws a redirect"],
    honoIdioms["throws a success"],
  ],
  ["answers 400, 404", nodeIdioms["422"], honoIdioms["notFound"], nextIdioms["notFound"]],
  ["answers any other status", nodeIdioms["503"], honoIdioms["503"], fetchIdioms["503"]],
  ["throws, also after", nodeIdioms["throws"], nodeIdioms["throws after the answer"], fetchIdioms["throws"]],
  [
    "throws, and the error handler",
    nodeIdioms["an error that the error handler answers with a success"],
    slowFastifyIdioms["an error that the error handler answers with a success"],
    honoIdioms["throws what the error handler answers with a success"],
  ],
  [
    "answers twice",
    nodeIdioms["two ends with bodies"],
    nodeIdioms["destroy"],
    nodeIdioms["await pipeline of a stream that breaks"],
    nodeIdioms["an answer that is too short"],
    fetchIdioms["an answer that is too long"],
  ],
  ["does not end", nodeIdioms["never ends"], nodeIdioms["never returns"], fetchIdioms["a stream that never ends"]],
  [
    "writes to the socket",
    nodeIdioms["an answer on the socket"],
    nodeIdioms["an upgrade"],
    socketIdioms["a write on the client's socket"],
    streamIdioms["an answer on the stream"],
    honoIdioms["an answer past Hono"],
    nextIdioms["NextResponse.next"],
    nextIdioms["NextResponse.rewrite"],
  ],
  ["calls a method of the prototype", nodeIdioms["an answer on the client's response, past its methods"]],
  ["works on after", "a client that goes away does not stop the work"],
  ["runs while middleware", "middleware outside answers 408 while the work runs", "the work takes too long"],
  ["is done, and such a timeout", "the commit takes too long"],
];

const failure = "rolled back; key is free";
const said: Record<Want["kind"], (want: Want) => [answers: string[], outcome: string]> = {
  done: () => [["its own"], "committed"],
  final: () => [["its own"], "rolled back; stored"],
  failed: () => [["its own", "the error handler's"], failure],
  refused: ({ status, code }) => [[`${status} \`${code}\``], failure],
  cut: () => [["none: the connection is closed"], failure],
};

test("each row of the README's table of what holds is tested, and says what is tested", () => {
  const readme = readFileSync(new URL("README.md", root), "utf8");
  const [, table = ""] = /\| the handler +\| the answer.*\n.*\n((?:\|.*\n)+)/.exec(readme) ?? [];
  const cells = table
    .trim()
    .split("\n")
    .map((line) => line.split("|").map((cell) => cell.trim()).slice(1, 4)); // prettier-ignore
  const outside = readFileSync(new URL("test/adapters/outside.test.ts", root), "utf8");
  assert.equal(cells.length, rows.length);
  for (const [n, [beginning, ...cases]] of rows.entries()) {
    const [handler = "", answer = "", outcome = ""] = cells[n]!;
    assert.ok(handler.startsWith(beginning), `${handler} is not the row ${beginning}`);
    for (const one of cases) {
      if (typeof one === "string") {
        assert.ok(outside.includes(one), `no test ${one}`);
        continue;
      }
      assert.ok(one, `an idiom of the row ${beginning} is gone`);
      const [answers, becomes] = said[one.want.kind](one.want);
      assert.ok(answers.includes(answer), `${handler}: the answer is ${answers.join(" or ")}`);
      assert.equal(outcome, becomes, handler);
    }
  }
});
