// What Hono's documentation shows of its context.

import type { IncomingMessage, ServerResponse } from "node:http";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { Context } from "hono";
import { setCookie } from "hono/cookie";
import { HTTPException } from "hono/http-exception";
import { stream, streamSSE, streamText } from "hono/streaming";
import { fetchIdioms } from "./fetch.js";
import { bypassed, clients, cut, done, failed, final, refused, tooLong, type Idiom } from "./idioms.js";

/** Given is what a handler has. */
export interface Given {
  readonly c: Context;
  readonly more: () => Promise<unknown>;
}

const hidden = { "x-work": "1" };
const socket = (c: Context) => clients.get((c.env as { incoming: IncomingMessage }).incoming)!.socket!;
const outgoing = (c: Context) => (c.env as { outgoing: ServerResponse }).outgoing;

export const honoIdioms: Record<string, Idiom<Given>> = {
  ...Object.fromEntries(
    Object.entries(fetchIdioms).map(([name, { answers, want }]): [string, Idiom<Given>] => [
      `fetch: ${name}`,
      { answers: ({ c, more }) => answers({ request: c.req.raw, more }), want },
    ]),
  ),
  text: { answers: ({ c }) => c.text("paid"), want: done(200, "paid") },
  json: {
    answers: ({ c }) => c.json({ paid: true }, 201),
    want: done(201, '{"paid":true}', { "content-type": "application/json" }),
  },
  html: { answers: ({ c }) => c.html("<p>paid"), want: done(200, "<p>paid") },
  body: { answers: ({ c }) => c.body("paid", 201, { "X-Work": "1" }), want: done(201, "paid", hidden) },
  "body of nothing": { answers: ({ c }) => c.body(null, 204), want: done(204, "") },
  "304": { answers: ({ c }) => c.body(null, 304), want: done(304, "") },
  redirect: {
    answers: ({ c }) => c.redirect("/payments/1", 303),
    want: done(303, "", { location: "/payments/1" }),
  },
  "header and status": {
    answers: ({ c }) => {
      c.header("X-Work", "1");
      c.header("Link", "<a>", { append: true });
      c.header("Link", "<b>", { append: true });
      c.status(201);
      return c.text("paid");
    },
    want: done(201, "paid", { link: "<a>, <b>", ...hidden }),
  },
  "headers of c.res": {
    answers: ({ c }) => {
      c.res.headers.set("X-Work", "1");
      return c.text("paid");
    },
    want: done(200, "paid", hidden),
  },
  newResponse: { answers: ({ c }) => c.newResponse("paid", 201), want: done(201, "paid") },
  "c.res": {
    answers: ({ c }) => {
      c.res = new Response("paid", { status: 201, headers: { "X-Work": "1" } });
      return c.res;
    },
    want: done(201, "paid", hidden),
  },
  "c.res without a return": {
    answers: ({ c }) => {
      c.res = new Response("paid", { status: 201 });
    },
    want: done(201, "paid"),
  },
  "c.res, and another return": {
    answers: ({ c }) => {
      c.res = new Response("set", { status: 202 });
      return c.json({ paid: true }, 201);
    },
    want: done(202, "set"),
  },
  "c.res, and a header after it": {
    answers: ({ c }) => {
      c.res = new Response("paid", { status: 201 });
      c.header("X-Work", "1");
      return c.res;
    },
    want: done(201, "paid", hidden),
  },
  "headers of c.res, and a Response": {
    answers: ({ c }) => {
      c.res.headers.set("X-Work", "1");
      return new Response("paid");
    },
    want: done(200, "paid", hidden),
  },
  "throws a redirect": {
    answers: () => {
      throw new HTTPException(302, { res: new Response(null, { headers: { Location: "/payments/1" } }) });
    },
    want: done(302, "", { location: "/payments/1" }),
  },
  "throws a success": {
    answers: ({ c }) => {
      throw new HTTPException(200, { res: c.text("paid") });
    },
    want: done(200, "paid"),
  },
  "throws what the error handler answers with a success": {
    answers: ({ c }) => {
      c.status(201);
      c.header("X-Work", "1");
      c.res = new Response("paid", { status: 201, headers: { "X-Work": "1" } });
      throw Object.assign(new Error("no luck"), { status: 200 });
    },
    want: refused("success_after_rollback"),
  },
  "a cookie, then throws": {
    answers: ({ c }) => {
      setCookie(c, "x-work", "1");
      c.res = new Response("paid", { headers: { "X-Work": "1" } });
      throw new Error("no luck");
    },
    want: failed(),
  },
  "Response.json": { answers: () => Response.json({ paid: true }), want: done(200, '{"paid":true}') },
  render: {
    answers: ({ c }) => {
      c.setRenderer((content) => c.html(`<p>${String(content)}`));
      return c.render("paid");
    },
    want: done(200, "<p>paid"),
  },
  stream: {
    answers: ({ c, more }) =>
      stream(c, async (s) => {
        await s.write("pa");
        await more();
        await s.write("id");
      }),
    want: done(200, "paid"),
  },
  streamText: { answers: ({ c }) => streamText(c, async (s) => void (await s.write("paid"))), want: done(200, "paid") },
  streamSSE: {
    answers: ({ c }) => streamSSE(c, async (s) => void (await s.writeSSE({ data: "paid" }))),
    want: done(200, "data: paid\n\n"),
  },
  notFound: { answers: ({ c }) => c.notFound(), want: final(404) },
  "503": { answers: ({ c }) => c.text("later", 503), want: failed(503) },

  throws: {
    answers: ({ c }) => {
      c.header("X-Work", "1");
      c.res.headers.set("X-Work", "1");
      throw new Error("no luck");
    },
    want: failed(),
  },
  "throws an HTTPException": {
    answers: () => {
      throw new HTTPException(409, { message: "no luck" });
    },
    want: failed(409),
  },
  "a stream that breaks": {
    answers: () =>
      new Response(
        new ReadableStream({
          pull(controller) {
            controller.enqueue(Buffer.from("half"));
            controller.error(new Error("the source broke"));
          },
        }),
      ),
    want: failed(),
  },
  "answers nothing": { answers: () => undefined, want: failed() },
  "an answer past Hono": {
    answers: ({ c }) => {
      outgoing(c).writeHead(201, { "X-Work": "1" });
      outgoing(c).end("paid");
      return RESPONSE_ALREADY_SENT;
    },
    want: bypassed,
  },
  "an answer past Hono, and another one": {
    answers: ({ c }) => {
      outgoing(c).end("paid");
      return c.text("paid");
    },
    want: bypassed,
  },
  "a write on the socket": {
    answers: ({ c }) => {
      outgoing(c).socket!.write("HTTP/1.1 200 OK\r\n\r\n");
      return c.text("paid");
    },
    want: bypassed,
  },
  "a write on the client's socket": {
    answers: ({ c }) => {
      socket(c).write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npaid");
      return c.text("paid");
    },
    want: bypassed,
  },
  "a head on the client's response, past its methods": {
    answers: ({ c }) => {
      const client = clients.get((c.env as { incoming: IncomingMessage }).incoming)!;
      (Object.getPrototypeOf(client) as ServerResponse).writeHead.call(client, 200);
      return c.text("paid");
    },
    want: cut,
  },
  "RESPONSE_ALREADY_SENT, without one": { answers: () => RESPONSE_ALREADY_SENT, want: bypassed },
  "never returns": { answers: () => new Promise(() => {}), want: tooLong },
  "a stream that never ends": { answers: () => new Response(new ReadableStream({})), want: tooLong },
};
