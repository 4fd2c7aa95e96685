// What Fastify's documentation shows of its reply.

import { Readable } from "node:stream";
import * as timers from "node:timers/promises";
import type { FastifyReply, FastifyRequest } from "fastify";
import { bypassed, done, failed, final, refused, tooLong, type Idiom } from "./idioms.js";
import { nodeIdioms, socketIdioms, type Given as NodeGiven } from "./node.js";

/** Given is what a handler has. */
export interface Given {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly more: () => Promise<unknown>;
}

const hidden = { "x-work": "1" };
const json = (body: string, status = 200) => done(status, body, { "content-type": "application/json; charset=utf-8" });
const stream = () => Readable.from([Buffer.from("pa"), Buffer.from("id")], { objectMode: false });
const broken = (first: string[]) =>
  Readable.from(
    (async function* () {
      yield* first;
      await timers.setImmediate();
      throw new Error("the source broke");
    })(),
    { objectMode: false },
  );

const common: Record<string, Idiom<Given>> = {
  "returns an object": { answers: () => ({ paid: true }), want: json('{"paid":true}') },
  "returns a string": {
    answers: () => "paid",
    want: done(200, "paid", { "content-type": "text/plain; charset=utf-8" }),
  },
  "returns a buffer": { answers: () => Buffer.from("paid"), want: done(200, "paid") },
  "returns a stream": { answers: () => stream(), want: done(200, "paid") },
  "returns null": { answers: () => null, want: { kind: "done", status: 200 } },
  "code and header, then returns": {
    answers: ({ reply }) => {
      reply.code(201).header("Location", "/payments/1").header("X-Work", "1");
      return { paid: true };
    },
    want: done(201, '{"paid":true}', { location: "/payments/1", ...hidden }),
  },
  "send of an object": {
    answers: ({ reply }) => void reply.code(201).send({ paid: true }),
    want: json('{"paid":true}', 201),
  },
  "send of a string": { answers: ({ reply }) => void reply.send("paid"), want: done(200, "paid") },
  "send of a buffer": { answers: ({ reply }) => void reply.send(Buffer.from("paid")), want: done(200, "paid") },
  "send of a stream": { answers: ({ reply }) => void reply.code(201).send(stream()), want: done(201, "paid") },
  "send of a Uint8Array": { answers: ({ reply }) => void reply.send(new Uint8Array([112])), want: done(200, "p") },
  "send of nothing": { answers: ({ reply }) => void reply.send(), want: done(200, "") },
  "return of send": { answers: ({ reply }) => reply.code(201).send({ paid: true }), want: json('{"paid":true}', 201) },
  "return of send of a stream": { answers: ({ reply }) => reply.send(stream()), want: done(200, "paid") },
  "send and return of the reply": {
    answers: async ({ reply, more }) => {
      reply.send({ paid: true });
      await more();
      return reply;
    },
    want: json('{"paid":true}'),
  },
  "await of the reply": {
    answers: async ({ reply }) => {
      setImmediate(() => reply.send({ paid: true }));
      await reply;
    },
    want: json('{"paid":true}'),
  },
  "send, then more work": {
    answers: async ({ reply, more }) => {
      reply.send({ paid: true });
      await more();
    },
    want: json('{"paid":true}'),
  },
  "send from a callback": {
    callback: true,
    answers: ({ reply }) => void setImmediate(() => reply.code(201).send({ paid: true })),
    want: json('{"paid":true}', 201),
  },
  "send of a stream from a callback": {
    callback: true,
    answers: ({ reply }) => void reply.send(stream()),
    want: done(200, "paid"),
  },
  "204": { answers: ({ reply }) => void reply.code(204).send(), want: done(204, "") },
  "204 without send": { answers: ({ reply }) => void reply.code(204), want: done(204, "") },
  "304": { answers: ({ reply }) => reply.code(304).header("ETag", '"a"').send(), want: done(304, "", { etag: '"a"' }) },
  "headers, type and removeHeader": {
    answers: ({ reply }) =>
      reply.headers({ "X-Work": "1", "X-Gone": "1" }).removeHeader("x-gone").type("text/csv").send("a,b"),
    want: done(200, "a,b", { "x-gone": null, ...hidden }),
  },
  "several cookies": {
    answers: ({ reply }) => reply.header("Set-Cookie", "a=1").header("Set-Cookie", "b=2").send("paid"),
    want: done(200, "paid", { "set-cookie": "a=1, b=2" }),
  },
  serializer: { answers: ({ reply }) => reply.serializer(() => "paid").send({}), want: done(200, "paid") },
  trailer: {
    answers: ({ reply }) => {
      reply.trailer("Checksum", ((_r: unknown, _p: unknown, done: (e: null, v: string) => void) =>
        done(null, "1")) as never);
      return reply.send("paid");
    },
    want: done(200, "paid", { trailer: null }),
  },
  "hijack and raw": {
    answers: ({ reply }) => {
      reply.hijack();
      reply.raw.writeHead(201, { "X-Work": "1" });
      reply.raw.end("paid");
    },
    want: done(201, "paid", hidden),
  },
  "raw without hijack": { answers: ({ reply }) => void reply.raw.end("paid"), want: done(200, "paid") },
  "raw, and return of the reply": {
    answers: ({ reply }) => {
      reply.raw.end("paid");
      return reply;
    },
    want: done(200, "paid"),
  },
  "sent and statusCode": {
    answers: ({ reply }) => {
      reply.statusCode = 201;
      return String(reply.sent);
    },
    want: done(201, "false"),
  },
  callNotFound: { answers: ({ reply }) => void reply.callNotFound(), want: final(404) },
  "an error with a status that is sent": {
    answers: ({ reply }) => void reply.send(Object.assign(new Error("declined"), { statusCode: 422 })),
    want: final(422),
  },

  throws: {
    answers: ({ reply }) => {
      reply.code(201).header("X-Work", "1");
      throw new Error("no luck");
    },
    want: failed(),
  },
  "throws with a status": {
    answers: () => {
      throw Object.assign(new Error("no luck"), { statusCode: 409 });
    },
    want: failed(409),
  },
  "send of an error": { answers: ({ reply }) => void reply.send(new Error("no luck")), want: failed() },
  "throws after send": {
    answers: ({ reply }) => {
      reply.code(201).header("X-Work", "1").send({ paid: true });
      throw new Error("no luck");
    },
    want: failed(),
  },
  "throws after send of a stream": {
    answers: async ({ reply, more }) => {
      reply.code(201).header("X-Work", "1").send(stream());
      await more();
      throw new Error("no luck");
    },
    want: failed(),
  },
  "a stream that breaks at once": { answers: () => broken([]), want: failed() },
  "a stream that breaks midway": { answers: () => broken(["half"]), want: failed() },
  "an object without JSON": { answers: () => ({ n: 1n }), want: failed() },
  "hijack and a write on the socket": {
    answers: ({ reply }) => {
      reply.hijack();
      reply.raw.socket!.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npaid");
    },
    want: bypassed,
  },
  "hijack without an answer": { answers: ({ reply }) => void reply.hijack(), want: tooLong },
  "never returns": { answers: () => new Promise(() => {}), want: tooLong },
  "never sends": { callback: true, answers: () => {}, want: tooLong },
};

/** With hooks that take their time, everything is sent later. */
export const fastifyIdioms: Record<string, Idiom<Given>> = {
  ...common,
  "two sends": {
    answers: ({ reply }) => {
      reply.send({ paid: 1 });
      reply.send({ paid: 2 });
    },
    want: { kind: "done", status: 200, body: '{"paid":1}' },
  },
  ...Object.fromEntries(
    Object.entries({ ...nodeIdioms, ...socketIdioms }).map(([name, { answers, want, callback }]) => [
      `raw: ${name}`,
      {
        ...(callback && { callback }),
        // Fastify answers an error with such a status 500 itself.
        want: want.code === "success_after_rollback" ? failed() : want,
        answers: ({ request, reply, more }: Given) => {
          reply.hijack();
          const given: NodeGiven = { request: request.raw, response: reply.raw, more };
          return answers(given);
        },
      },
    ]),
  ),
};

export const slowFastifyIdioms: Record<string, Idiom<Given>> = {
  ...common,
  "an error that the error handler answers with a success": {
    answers: ({ reply }) => {
      reply.header("X-Work", "1");
      throw Object.assign(new Error("no luck"), { statusCode: 200 });
    },
    want: refused("success_after_rollback"),
  },
};

export const fastify5Idioms: Record<string, Idiom<Given>> = {
  redirect: {
    answers: ({ reply }) => void reply.redirect("/payments/1"),
    want: done(302, "", { location: "/payments/1" }),
  },
  "return of redirect": {
    answers: ({ reply }) => reply.redirect("/payments/1", 303),
    want: done(303, "", { location: "/payments/1" }),
  },
  "returns a Response": {
    answers: () => new Response("paid", { status: 201, headers: { "X-Work": "1" } }),
    want: done(201, "paid", hidden),
  },
  "send of a web stream": { answers: ({ reply }) => reply.send(new Response("paid").body), want: done(200, "paid") },
};

export const fastify4Idioms: Record<string, Idiom<Given>> = {
  redirect: {
    answers: ({ reply }) =>
      (reply as unknown as { redirect(code: number, to: string): unknown }).redirect(303, "/payments/1"),
    want: { kind: "done", status: 303 },
  },
};
