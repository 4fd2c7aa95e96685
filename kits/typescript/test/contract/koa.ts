// What handlers do behind Koa, which the adapter for node:http serves.

import { createRequire } from "node:module";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import { nodeIdempotency } from "@cronce/idempotency/node";
import { listening, plain, prefixed, run, type Framework } from "./frameworks.js";
import { done, failed, tooLong, type Idiom } from "./idioms.js";
import { nodeIdioms, socketIdioms, type Given as NodeGiven } from "./node.js";

/** Context is what these tests use of Koa's. */
interface Context {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly path: string;
  readonly cookies: { set(name: string, value: string): void };
  status: number;
  body: unknown;
  set(name: string, value: string): void;
  throw(status: number, message?: string): never;
}

interface Koa {
  use(middleware: (ctx: Context, next: () => Promise<void>) => unknown): void;
  on(event: "error", listener: () => void): void;
  callback(): (request: IncomingMessage, response: ServerResponse) => void;
}

const Koa = createRequire(import.meta.url)("koa") as new () => Koa;

type Given = NodeGiven & { readonly ctx: Context };

const koaIdioms: Record<string, Idiom<Given>> = {
  ...prefixed("node: ", { ...nodeIdioms, ...socketIdioms }),
  "status and headers of the context": {
    answers: ({ ctx, response }) => {
      ctx.status = 201;
      ctx.set("X-Work", "1");
      response.end("paid");
    },
    want: done(201, "paid", { "x-work": "1" }),
  },
  "cookies of the context": {
    answers: ({ ctx, response }) => {
      ctx.cookies.set("session", "1");
      response.end("paid");
    },
    want: done(200, "paid", { "set-cookie": "session=1; path=/; httponly" }),
  },
  "cookies of the context, then throws": {
    answers: ({ ctx }) => {
      ctx.cookies.set("session", "1");
      ctx.throw(409);
    },
    want: { ...failed(409), headers: { "set-cookie": null } },
  },
  "the context's own response": {
    answers: ({ ctx }) => {
      ctx.res.end("paid");
    },
    want: done(200, "paid"),
  },
  "the context's socket": {
    answers: ({ ctx, response }) => {
      ctx.res.socket!.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npaid");
      response.end("paid");
    },
    want: { kind: "refused", status: 500, code: "response_bypassed" },
  },
  "a body of the context": {
    answers: ({ ctx }) => {
      ctx.body = "paid"; // Koa sends it after the kit has answered
    },
    want: tooLong,
  },
};

export const koa: Framework = {
  idioms: koaIdioms,
  start(kit, routes, closing) {
    const onError = (error: unknown) => {
      throw error;
    };
    const idempotent = nodeIdempotency(kit, { principal: () => "alice", onError });
    const app = new Koa();
    app.on("error", () => {});
    app.use(async (ctx) => {
      const route = routes.find(({ path }) => path === ctx.path);
      if (route === undefined) {
        ctx.body = await plain();
        return;
      }
      ctx.res.statusCode = 200; // Koa begins with 404
      const listener = idempotent(route, (request, response, tx) => {
        const operation = String(request.headers["idempotency-key"]);
        const given: Given = { ctx, request, response, more: () => route.write(tx, operation) };
        return run(route, tx, operation, given);
      });
      await listener(ctx.req, ctx.res);
    });
    return listening(createServer(app.callback()).listen(0, "127.0.0.1"), closing);
  },
};
