// What a handler can do with the response of node:http, below every framework.

import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { finished, pipeline } from "node:stream/promises";
import * as timers from "node:timers/promises";
import { bypassed, done, failed, tooLong, type Idiom } from "./idioms.js";

/** Given is what a handler has. */
export interface Given {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** more writes another effect of the operation, which is counted as the same one if it is committed. */
  readonly more: () => Promise<unknown>;
}

const hidden = { "x-work": "1" };
const large = "0123456789".repeat(30_000);
const broken = () =>
  Readable.from(
    (async function* () {
      yield "half";
      await timers.setImmediate();
      throw new Error("the source broke");
    })(),
  );
const endless = () =>
  new Readable({
    read() {
      // never has anything
    },
  });

export const nodeIdioms: Record<string, Idiom<Given>> = {
  "end with a body": { answers: ({ response }) => response.end("paid"), want: done(200, "paid") },
  "end without a body": { answers: ({ response }) => void response.end(), want: done(200, "") },
  "statusCode and setHeader": {
    answers: ({ response }) => {
      response.statusCode = 201;
      response.setHeader("Location", "/payments/1");
      response.setHeader("X-Work", "1");
      response.end("paid");
    },
    want: done(201, "paid", { location: "/payments/1", ...hidden }),
  },
  statusMessage: {
    answers: ({ response }) => {
      response.statusMessage = "Paid";
      response.end("paid");
    },
    want: done(200, "paid"),
  },
  "writeHead with an object": {
    answers: ({ response }) => response.writeHead(201, { "Content-Type": "text/plain", "X-Work": "1" }).end("paid"),
    want: done(201, "paid", { "content-type": "text/plain", ...hidden }),
  },
  "writeHead with a reason and a list": {
    answers: ({ response }) => {
      response.writeHead(201, "Paid", ["Link", "<a>", "X-Work", "1", "Link", "<b>"]);
      response.end("paid");
    },
    want: done(201, "paid", { link: "<a>, <b>", ...hidden }),
  },
  "headers that are appended, replaced and removed": {
    answers: ({ response }) => {
      response.setHeader("X-Gone", "1");
      response.removeHeader("x-gone");
      response.setHeader("X-Work", "0");
      response.setHeader("X-Work", ["1"]);
      response.appendHeader("Link", "<a>");
      response.appendHeader("Link", ["<b>"]);
      response.end(String(response.hasHeader("x-gone")) + String(response.getHeader("x-work")));
    },
    want: done(200, "false1", { link: "<a>, <b>", "x-gone": null, ...hidden }),
  },
  "several writes": {
    answers: ({ response }) => {
      response.write("pa");
      response.write(Buffer.from("i"));
      response.end(new Uint8Array([100]));
    },
    want: done(200, "paid"),
  },
  "writes with encodings and callbacks": {
    answers: async ({ response }) => {
      await new Promise<void>((resolve) => response.write("7061", "hex", () => resolve()));
      await new Promise<void>((resolve) => response.write("aWQ=", "base64", () => resolve()));
      await new Promise<void>((resolve) => response.end(resolve));
    },
    want: done(200, "paid"),
  },
  "every byte": {
    answers: ({ response }) => response.end(Buffer.from(Array.from({ length: 256 }, (_, i) => i))),
    want: done(200, String.fromCharCode(...Array.from({ length: 256 }, (_, i) => i))),
  },
  "text that is not ASCII in header and body": {
    answers: ({ response }) => {
      response.setHeader("X-Work", "1");
      response.setHeader("Content-Disposition", "attachment; filename=\u00e9");
      response.end("\u00e9", "utf8");
    },
    want: done(200, "\u00c3\u00a9", hidden),
  },
  "flushHeaders before the body": {
    answers: async ({ response, more }) => {
      response.setHeader("X-Work", "1");
      response.flushHeaders();
      await more();
      response.end(String(response.headersSent));
    },
    want: done(200, "true", hidden),
  },
  "a large body": { answers: ({ response }) => response.end(large), want: done(200, large) },
  "writes that wait for drain": {
    answers: async ({ response }) => {
      for (let n = 0; n < 10; n++) {
        if (!response.write(large.slice(0, 30_000))) {
          await once(response, "drain");
        }
      }
      response.end();
    },
    want: done(200, large),
  },
  "cork and uncork": {
    answers: ({ response }) => {
      response.cork();
      response.write("pa");
      response.write("id");
      response.uncork();
      response.end();
    },
    want: done(200, "paid"),
  },
  pipe: { answers: ({ response }) => void Readable.from(["pa", "id"]).pipe(response), want: done(200, "paid") },
  "pipe of a large stream": {
    answers: ({ response }) => void Readable.from(large.match(/.{1000}/g)!).pipe(response),
    want: done(200, large),
  },
  "await pipeline": {
    answers: ({ response }) => pipeline(Readable.from(["pa", "id"]), response),
    want: done(200, "paid"),
  },
  "await finished": {
    answers: async ({ response }) => {
      response.end("paid");
      await finished(response);
    },
    want: done(200, "paid"),
  },
  "await finish": {
    answers: async ({ response }) => {
      setImmediate(() => response.end("paid"));
      await once(response, "finish");
    },
    want: done(200, "paid"),
  },
  "await close": {
    answers: async ({ response }) => {
      response.end("paid");
      await once(response, "close");
    },
    want: done(200, "paid"),
  },
  "prefinish, and what the response says of itself": {
    answers: async ({ response }) => {
      const before = [response.headersSent, response.writableEnded, response.writableFinished];
      const heard: string[] = [];
      for (const name of ["prefinish", "finish", "close"]) {
        response.on(name, () => heard.push(name));
      }
      response.end("paid");
      const after = [response.headersSent, response.writableEnded];
      await once(response, "close");
      const all = [before, after, response.writableFinished, response.destroyed, heard];
      if (JSON.stringify(all) !== '[[false,false,false],[true,true],true,true,["prefinish","finish","close"]]') {
        throw new Error(JSON.stringify(all));
      }
    },
    want: done(200, "paid"),
  },
  "from a callback": {
    callback: true,
    answers: ({ response }) => void setImmediate(() => response.end("paid")),
    want: done(200, "paid"),
  },
  "from a timer": {
    answers: ({ response }) => void setTimeout(() => response.end("paid"), 5),
    want: done(200, "paid"),
  },
  "work after the answer": {
    answers: async ({ response, more }) => {
      response.end("paid");
      await more();
    },
    want: done(200, "paid"),
  },
  "204": { answers: ({ response }) => response.writeHead(204).end("dropped"), want: done(204, "") },
  "304": {
    answers: ({ response }) => response.writeHead(304, { ETag: '"a"' }).end(),
    want: done(304, "", { etag: '"a"' }),
  },
  redirect: {
    answers: ({ response }) => response.writeHead(303, { Location: "/payments/1" }).end(),
    want: done(303, "", { location: "/payments/1" }),
  },
  "Transfer-Encoding: chunked": {
    answers: ({ response }) => {
      response.writeHead(200, { "Transfer-Encoding": "chunked" });
      response.write("pa");
      response.end("id");
    },
    want: done(200, "paid"),
  },
  trailers: {
    answers: ({ response }) => {
      response.writeHead(200, { "Transfer-Encoding": "chunked", Trailer: "Checksum" });
      response.write("paid");
      response.addTrailers({ Checksum: "1" });
      response.end();
    },
    want: done(200, "paid", { trailer: null }),
  },
  "Content-Length": {
    answers: ({ response }) => response.writeHead(200, { "Content-Length": 4 }).end("paid"),
    want: done(200, "paid"),
  },
  "informational responses": {
    answers: ({ response }) => {
      response.writeContinue();
      response.writeProcessing();
      response.writeEarlyHints({ link: "</style.css>; rel=preload" });
      response.end("paid");
    },
    want: done(200, "paid"),
  },
  "setTimeout of the response": {
    answers: ({ response }) => response.setTimeout(60_000, () => {}).end("paid"),
    want: done(200, "paid"),
  },
  "what the sockets tell": {
    answers: ({ request, response }) =>
      response.end([request.socket.remoteAddress, response.socket?.remoteAddress, response.req === request].join(" ")),
    want: done(200, "127.0.0.1 127.0.0.1 true"),
  },
  "compresses what it is asked to": {
    answers: ({ request, response }) => response.end(String(request.headers["accept-encoding"])),
    want: done(200, "undefined"),
  },
  "422": {
    answers: ({ response }) => response.writeHead(422).end("declined"),
    want: { kind: "final", status: 422, body: "declined" },
  },
  "503": { answers: ({ response }) => response.writeHead(503).end("later"), want: failed(503) },

  throws: {
    answers: ({ response }) => {
      response.setHeader("X-Work", "1");
      throw new Error("no luck");
    },
    want: failed(),
  },
  "throws after a part": {
    answers: ({ response }) => {
      response.writeHead(201, { "X-Work": "1" });
      response.write("half");
      throw new Error("no luck");
    },
    want: failed(),
  },
  "throws after the answer": {
    answers: ({ response }) => {
      response.writeHead(201, { "X-Work": "1" }).end("paid");
      throw new Error("no luck");
    },
    want: failed(),
  },
  "rejects after the answer": {
    answers: async ({ response, more }) => {
      response.end("paid");
      await more();
      throw new Error("no luck");
    },
    want: failed(),
  },
  "throws while a stream goes on": {
    answers: ({ response }) => {
      Readable.from(large.match(/.{100}/g)!).pipe(response);
      throw new Error("no luck");
    },
    want: failed(),
  },
  "two heads": {
    answers: ({ response }) => {
      response.writeHead(201);
      response.writeHead(202);
      response.end();
    },
    want: failed(),
  },
  "a header after the head": {
    answers: ({ response }) => {
      response.write("half");
      response.setHeader("X-Work", "1");
      response.end();
    },
    want: failed(),
  },
  "a header that HTTP does not have": {
    answers: ({ response }) => response.writeHead(200, { "X-Work": "a\r\nb" }).end("paid"),
    want: failed(),
  },
  "a status that HTTP does not have": { answers: ({ response }) => response.writeHead(99).end("paid"), want: failed() },
  "a write after the end": {
    answers: ({ response }) => {
      response.end("paid");
      response.write("twice");
    },
    want: failed(),
  },
  "two ends": {
    answers: ({ response }) => {
      response.end("paid");
      response.end();
    },
    want: done(200, "paid"),
  },
  "two ends with bodies": {
    answers: ({ response }) => {
      response.end("paid");
      response.end("twice");
    },
    want: failed(),
  },
  "an answer that is too short": {
    answers: ({ response }) => response.writeHead(200, { "Content-Length": 10 }).end("paid"),
    want: failed(),
  },
  "an answer that is too long": {
    answers: ({ response }) => response.writeHead(200, { "Content-Length": 2 }).end("paid"),
    want: failed(),
  },
  destroy: { answers: ({ response }) => void response.destroy(), want: failed() },
  "destroy after a part": {
    answers: ({ response }) => {
      response.write("half");
      response.destroy(new Error("no luck"));
    },
    want: failed(),
  },
  "destroy of the socket": { answers: ({ response }) => void response.socket?.destroy(), want: failed() },
  "destroy of the request's socket": { answers: ({ request }) => void request.socket.destroy(), want: failed() },
  "await pipeline of a stream that breaks": {
    answers: ({ response }) => pipeline(broken(), response),
    want: failed(),
  },

  "an answer on the socket": {
    answers: ({ response }) => void response.socket?.end("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npaid"),
    want: bypassed,
  },
  "a write on the request's socket": {
    answers: ({ request }) => void request.socket.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npaid"),
    want: bypassed,
  },
  "a stream into the socket": {
    answers: ({ request }) => void Readable.from(["HTTP/1.1 200 OK\r\n\r\n"]).pipe(request.socket),
    want: bypassed,
  },
  "a socket that is detached": {
    answers: ({ response }) => {
      const { socket } = response;
      response.detachSocket(socket!);
      socket!.end("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npaid");
    },
    want: bypassed,
  },
  "an upgrade": {
    answers: ({ response }) => response.writeHead(101, { Upgrade: "chat", Connection: "Upgrade" }).end(),
    want: bypassed,
  },

  "never answers": { answers: () => {}, want: tooLong },
  "never returns": {
    answers: ({ response }) => {
      response.end("paid");
      return new Promise(() => {});
    },
    want: tooLong,
  },
  "never ends": { answers: ({ response }) => void response.write("half"), want: tooLong },
  "pipe of a stream that never ends": { answers: ({ response }) => void endless().pipe(response), want: tooLong },
  "pipe of a stream that breaks": {
    answers: ({ response }) =>
      void broken()
        .on("error", () => {})
        .pipe(response),
    want: tooLong,
  },
  "answers too late": {
    answers: ({ response }) => void setTimeout(() => response.writeHead(201, { "X-Work": "1" }).end("late"), 600),
    want: tooLong,
  },
};
