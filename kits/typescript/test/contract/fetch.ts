// What handlers of the Fetch API answer with.

import { done, failed, final, tooLong, type Idiom } from "./idioms.js";

/** Given is what a handler has. */
export interface Given {
  readonly request: Request;
  readonly more: () => Promise<unknown>;
}

const hidden = { "x-work": "1" };
const streamed = (...chunks: string[]) => new Response(chunks.join("")).body;
const pulled = (pull: (controller: ReadableStreamDefaultController) => void) =>
  new Response(new ReadableStream({ pull }));

export const fetchIdioms: Record<string, Idiom<Given>> = {
  "a Response": {
    answers: () => new Response("paid", { status: 201, headers: { "X-Work": "1", Location: "/payments/1" } }),
    want: done(201, "paid", { location: "/payments/1", ...hidden }),
  },
  "a Response without a body": { answers: () => new Response(null, { status: 204 }), want: done(204, "") },
  "304": {
    answers: () => new Response(null, { status: 304, headers: { ETag: '"a"' } }),
    want: done(304, "", { etag: '"a"' }),
  },
  "Response.json": { answers: () => Response.json({ paid: true }), want: done(200, '{"paid":true}') },
  "Response.redirect": {
    answers: () => Response.redirect("http://shop.test/payments/1", 303),
    want: done(303, "", { location: "http://shop.test/payments/1" }),
  },
  "several cookies": {
    answers: () => {
      const headers = new Headers([
        ["Set-Cookie", "a=1"],
        ["Set-Cookie", "b=2"],
      ]);
      return new Response("paid", { headers });
    },
    want: done(200, "paid", { "set-cookie": "a=1, b=2" }),
  },
  "a form": {
    answers: () => new Response(new URLSearchParams({ paid: "1" })),
    want: done(200, "paid=1", { "content-type": "application/x-www-form-urlencoded;charset=UTF-8" }),
  },
  "a stream": { answers: () => new Response(streamed("pa", "id"), { status: 201 }), want: done(201, "paid") },
  "a stream that writes on": {
    answers: ({ more }) =>
      new Response(
        new ReadableStream({
          async pull(controller) {
            await more();
            controller.enqueue(Buffer.from("paid"));
            controller.close();
          },
        }),
      ),
    want: done(200, "paid"),
  },
  "the headers of a connection": {
    answers: () =>
      new Response("paid", {
        headers: { "Transfer-Encoding": "chunked", "Keep-Alive": "timeout=1", Trailer: "Checksum", "X-Work": "1" },
      }),
    want: done(200, "paid", { trailer: null, ...hidden }),
  },
  "Content-Length": {
    answers: () => new Response("paid", { headers: { "Content-Length": "4" } }),
    want: done(200, "paid"),
  },
  "headers that only the kit sets": {
    answers: () => new Response("paid", { headers: { "Idempotent-Replayed": "true" } }),
    want: done(200, "paid"),
  },
  "throws a Response": {
    answers: () => {
      throw new Response("paid", { status: 303, headers: { Location: "/payments/1" } });
    },
    want: done(303, "paid", { location: "/payments/1" }),
  },
  "throws a Response of a failure": {
    answers: () => {
      throw new Response("later", { status: 503 });
    },
    want: failed(503),
  },
  "404": { answers: () => new Response("no such order", { status: 404 }), want: final(404, "no such order") },
  "503": { answers: () => new Response("later", { status: 503 }), want: failed(503) },

  "Response.error": { answers: () => Response.error(), want: failed() },
  "an answer that is too short": {
    answers: () => new Response("paid", { headers: { "Content-Length": "10" } }),
    want: failed(),
  },
  "an answer that is too long": {
    answers: () => new Response("paid", { headers: { "Content-Length": "2" } }),
    want: failed(),
  },
  "a Response that was read before": {
    answers: async () => {
      const response = new Response("paid");
      await response.text();
      return response;
    },
    want: failed(),
  },
  "no Response": { answers: () => ({ paid: true }), want: failed() },
  nothing: { answers: () => undefined, want: failed() },
  throws: {
    answers: () => {
      throw new Error("no luck");
    },
    want: failed(),
  },
  "a stream that breaks": {
    answers: () =>
      pulled((controller) => {
        controller.enqueue(Buffer.from("half"));
        controller.error(new Error("the source broke"));
      }),
    want: failed(),
  },
  "never returns": { answers: () => new Promise(() => {}), want: tooLong },
  "a stream that never ends": { answers: () => pulled(() => {}), want: tooLong },
};
