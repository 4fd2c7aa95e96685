// What a handler can do with the response of node:http, below every framework.

import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import { Readable, Writable } from "node:stream";
import { finished, pipeline } from "node:stream/promises";
import * as timers from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { bypassed, clients, cut, done, failed, refused, tooLong, type Idiom } from "./idioms.js";

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

/** Informing is a response of Node.js 24. */
interface Informing {
  writeInformation?(status: number, headers: object): void;
}

type Method = (...args: unknown[]) => unknown;

const prototypeOf = (client: ServerResponse) =>
  Object.getPrototypeOf(client) as Record<"end" | "write" | "writeHead" | "setHeader" | "detachSocket", Method>;

const raw = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npaid";

/** Idioms that HTTP/2 has too. */
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
  "chunkedEncoding of the response": {
    answers: ({ response }) => {
      response.chunkedEncoding = true;
      response.write("pa");
      response.end("id");
    },
    want: done(200, "paid"),
  },
  "a header of an upgrade": {
    answers: ({ response }) => response.writeHead(200, { "HTTP2-Settings": "a" }).end("paid"),
    want: done(200, "paid", { "http2-settings": null }),
  },
  "a header that has one value, twice": {
    answers: ({ response }) => response.writeHead(201, ["Location", "/a", "Location", "/b"]).end("paid"),
    want: done(201, "paid", { location: "/a, /b" }),
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
    answers: ({ request, response }) => {
      for (const target of [response, clients.get(request)!]) {
        (target as Informing).writeInformation?.(103, { link: "</style.css>; rel=preload" });
        target.writeEarlyHints({ link: "</style.css>; rel=preload" });
      }
      response.writeContinue();
      response.writeProcessing();
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

  "an answer on the client's response": {
    answers: ({ request }) => void clients.get(request)!.writeHead(201, { "X-Work": "1" }).end("paid"),
    want: done(201, "paid", hidden),
  },
  "a header of the client's response, past its methods": {
    answers: ({ request }) => {
      const client = clients.get(request)!;
      prototypeOf(client).setHeader.call(client, "X-Work", "1");
      throw new Error("no luck");
    },
    want: failed(),
  },
  "destroy of the client's response": {
    answers: ({ request }) => void clients.get(request)!.destroy(),
    want: failed(),
  },
  "an answer on the client's response, past its methods": {
    answers: ({ request }) => {
      const client = clients.get(request)!;
      prototypeOf(client).end.call(client, "paid");
    },
    want: cut,
  },
  "an error that the error handler answers with a success": {
    answers: () => {
      throw Object.assign(new Error("no luck"), { status: 200, statusCode: 200 });
    },
    want: refused("success_after_rollback"),
  },
  "an error that the error handler answers with a redirect": {
    answers: ({ response }) => {
      response.setHeader("Location", "/payments/1");
      throw Object.assign(new Error("no luck"), { status: 302, statusCode: 302 });
    },
    want: refused("success_after_rollback"),
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

const socketOf = (request: IncomingMessage) => clients.get(request)!.socket!;

/** Idioms of HTTP/1, which has one socket for one answer. */
export const socketIdioms: Record<string, Idiom<Given>> = {
  "a head on the client's response, past its methods, and an answer": {
    answers: ({ request, response }) => {
      const client = clients.get(request)!;
      const prototype = prototypeOf(client);
      prototype.writeHead.call(client, 200);
      prototype.write.call(client, "paid");
      response.end("paid");
    },
    want: cut,
  },
  "a write on the client's socket": {
    answers: ({ request, response }) => {
      socketOf(request).write(raw);
      response.end("paid");
    },
    want: bypassed,
  },
  "an end of the client's socket with an answer": {
    answers: ({ request }) => void socketOf(request).end(raw),
    want: bypassed,
  },
  "a stream into the client's socket": {
    answers: ({ request }) => void Readable.from([raw]).pipe(socketOf(request)),
    want: bypassed,
  },
  "a write on the client's socket, past its methods": {
    answers: ({ request, response }) => {
      (Writable.prototype.write as Method).call(socketOf(request), raw, () => response.end("paid"));
    },
    want: bypassed,
  },
  "writes on the client's socket, past its buffer": {
    answers: async ({ request, response }) => {
      const socket = socketOf(request);
      await new Promise<void>((resolve) =>
        socket._write(Buffer.from(raw), "buffer" as BufferEncoding, () => resolve()),
      );
      await new Promise<void>((resolve) => socket._writev!([{ chunk: raw, encoding: "latin1" }], () => resolve()));
      response.end("paid");
    },
    want: bypassed,
  },
  "a write on the client's socket that waits": {
    answers: ({ request, response }) => {
      socketOf(request).cork();
      (Writable.prototype.write as Method).call(socketOf(request), raw);
      response.end("paid");
    },
    want: cut,
  },
  "the client's response without its socket": {
    answers: ({ request, response }) => {
      const client = clients.get(request)!;
      client.detachSocket(client.socket!);
      response.end("paid");
    },
    want: bypassed,
  },
  "the client's response without its socket, past its methods": {
    answers: ({ request, response }) => {
      const client = clients.get(request)!;
      prototypeOf(client).detachSocket.call(client, client.socket!);
      response.end("paid");
    },
    want: cut,
  },
};

const streamOf = (request: IncomingMessage) => (request as unknown as Http2ServerRequest).stream;

/** Idioms of HTTP/2, which has one stream for one answer. */
export const streamIdioms: Record<string, Idiom<Given>> = {
  "a head on the client's response, past its methods, and an answer": {
    answers: ({ request, response }) => {
      const client = clients.get(request)!;
      const prototype = prototypeOf(client);
      prototype.writeHead.call(client, 200);
      prototype.write.call(client, "paid");
      response.end("paid");
    },
    want: bypassed,
  },
  "an answer on the stream": {
    answers: ({ request, response }) => {
      streamOf(request).respond({ ":status": 200 });
      response.end("paid");
    },
    want: bypassed,
  },
  "an answer on the stream, to its end": {
    answers: ({ request }) => {
      streamOf(request).respond({ ":status": 200 });
      streamOf(request).end("paid");
    },
    want: bypassed,
  },
  "an answer of a file on the stream": {
    answers: ({ request }) => streamOf(request).respondWithFile(fileURLToPath(import.meta.url)),
    want: bypassed,
  },
  "an informational answer on the stream": {
    answers: ({ request, response }) => {
      streamOf(request).additionalHeaders({ ":status": 103 });
      response.end("paid");
    },
    want: bypassed,
  },
  "a pushed stream": {
    answers: ({ request, response }) => {
      streamOf(request).pushStream({ ":path": "/style.css" }, (_error, pushed) => pushed.end("paid"));
      response.end("paid");
    },
    want: bypassed,
  },
  "a write on the stream": {
    answers: ({ request, response }) => {
      streamOf(request).write("paid");
      response.end("paid");
    },
    want: bypassed,
  },
  "the end of the stream, past its methods": {
    answers: ({ request, response }) => {
      (Writable.prototype.end as Method).call(streamOf(request));
      response.end("paid");
    },
    want: cut,
  },
};
