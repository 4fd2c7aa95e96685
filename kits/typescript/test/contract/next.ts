// What handlers of Next.js do, on its real server: route handlers, and API routes.

import { AsyncLocalStorage } from "node:async_hooks";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { nextIdempotency } from "@cronce/idempotency/next";
import { nodeIdempotency } from "@cronce/idempotency/node";
import type { NextApiResponse } from "next";
import type { NextRequest } from "next/server.js";
import { fetchIdioms, type Given } from "./fetch.js";
import { answerError, listening, prefixed, run, type Framework } from "./frameworks.js";
import { bypassed, done, failed, final, type Idiom } from "./idioms.js";
import { nodeIdioms, socketIdioms, type Given as NodeGiven } from "./node.js";

// Next.js has no exports for ES modules.
const require = createRequire(import.meta.url);
Object.assign(globalThis, { AsyncLocalStorage }); // as its server does when it starts
const next = require("next") as (options: object) => {
  prepare(): Promise<void>;
  getRequestHandler(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  close(): Promise<void>;
};
const { cookies, draftMode } = require("next/headers") as typeof import("next/headers.js");
const { notFound, permanentRedirect, redirect } = require("next/navigation") as typeof import("next/navigation.js");
const { NextResponse } = require("next/server") as typeof import("next/server.js");

const setsCookies = async () => {
  (await cookies()).set("session", "1");
  (await draftMode()).enable();
};

export const nextIdioms: Record<string, Idiom<Given>> = {
  ...fetchIdioms,
  "NextResponse.json": {
    answers: () => NextResponse.json({ paid: true }, { status: 201 }),
    want: done(201, '{"paid":true}'),
  },
  "NextResponse.redirect": {
    answers: () => NextResponse.redirect("http://shop.test/payments/1", 303),
    want: done(303, "", { location: "http://shop.test/payments/1" }),
  },
  "cookies of a NextResponse": {
    answers: () => {
      const response = NextResponse.json({ paid: true });
      response.cookies.set("session", "1");
      return response;
    },
    want: done(200, '{"paid":true}', { "set-cookie": "session=1; Path=/" }),
  },
  "a NextRequest": {
    answers: async ({ request }) => {
      const { cookies, nextUrl } = request as NextRequest;
      const read = [cookies.size, nextUrl.pathname.slice(0, 10), await request.text()];
      return NextResponse.json(read);
    },
    want: done(200, '[0,"/contract/","{}"]'),
  },
  redirect: {
    answers: () => redirect("/payments/1;a=1"),
    want: done(307, "", { location: "/payments/1;a=1" }),
  },
  permanentRedirect: {
    answers: () => permanentRedirect("/payments/1"),
    want: done(308, "", { location: "/payments/1" }),
  },
  notFound: { answers: () => notFound(), want: final(404) },
  "cookies, and an answer": {
    answers: async () => {
      (await cookies()).set("session", "1");
      return new Response("paid");
    },
    want: done(200, "paid", { "set-cookie": "session=1; Path=/" }),
  },
  "cookies, and a redirect": {
    answers: async () => {
      (await cookies()).set("session", "1");
      redirect("/payments/1");
    },
    want: done(307, "", { "set-cookie": "session=1; Path=/" }),
  },
  "cookies, then throws": {
    answers: async () => {
      await setsCookies();
      throw new Error("no luck");
    },
    want: { ...failed(), headers: { "set-cookie": null } },
  },
  "cookies, and a wrong length": {
    answers: async () => {
      await setsCookies();
      return new Response("paid", { headers: { "Content-Length": "1" } });
    },
    want: { ...failed(), headers: { "set-cookie": null } },
  },
  "NextResponse.next": {
    answers: async () => {
      await setsCookies();
      return NextResponse.next();
    },
    want: bypassed,
  },
  "NextResponse.rewrite": { answers: () => NextResponse.rewrite("http://shop.test/other"), want: bypassed },
};

const api = (response: ServerResponse) => response as unknown as NextApiResponse;

const pagesIdioms: Record<string, Idiom<NodeGiven>> = {
  ...prefixed("node: ", { ...nodeIdioms, ...socketIdioms }),
  json: {
    answers: ({ response }) => api(response).status(201).json({ paid: true }),
    want: done(201, '{"paid":true}', { "content-type": "application/json; charset=utf-8" }),
  },
  send: { answers: ({ response }) => api(response).send("paid"), want: done(200, "paid") },
  redirect: {
    answers: ({ response }) => api(response).redirect(303, "/payments/1"),
    want: done(303, "/payments/1", { location: "/payments/1" }),
  },
  "draft mode, then throws": {
    answers: ({ response }) => {
      api(response).setDraftMode({ enable: true });
      throw new Error("no luck");
    },
    want: { ...failed(), headers: { "set-cookie": null } },
  },
};

const principal = () => "alice";
const handlers = globalThis as unknown as Record<string, (...args: never[]) => unknown>;
let server: Promise<Server> | undefined;

/** served is the server of Next.js, which `next build` has built in test/next-app. */
export async function served(closing: (close: () => unknown) => void): Promise<number> {
  const start = async () => {
    const app = next({ dev: false, dir: fileURLToPath(new URL("../../../test/next-app", import.meta.url)) });
    await app.prepare();
    closing(() => app.close());
    const answer = app.getRequestHandler();
    return createServer((request, response) => void answer(request, response)).listen(0, "127.0.0.1");
  };
  server ??= start();
  return listening(await server, closing);
}

export const nextFrameworks: Record<string, Framework> = {
  "Next 16": {
    idioms: nextIdioms,
    base: "/contract",
    start(kit, routes, closing) {
      const idempotent = nextIdempotency(kit, { principal });
      const byPath = new Map(
        routes.map((route) => [
          route.path,
          idempotent(route, (request, tx) => {
            const operation = request.headers.get("Idempotency-Key")!;
            const given: Given = { request, more: () => route.write(tx, operation) };
            return run(route, tx, operation, given) as Promise<Response>;
          }),
        ]),
      );
      handlers["contract"] = (request: Request, context: object) =>
        byPath.get(new URL(request.url).pathname)!(request, context);
      return served(closing);
    },
  },
  "API routes of Next 16": {
    idioms: pagesIdioms,
    base: "/api/contract",
    start(kit, routes, closing) {
      const idempotent = nodeIdempotency(kit, { principal, onError: answerError });
      const byPath = new Map(
        routes.map((route) => [
          route.path,
          idempotent(route, (request, response, tx) => {
            const operation = String(request.headers["idempotency-key"]);
            const given: NodeGiven = { request, response, more: () => route.write(tx, operation) };
            return run(route, tx, operation, given);
          }),
        ]),
      );
      handlers["contractOfPages"] = (request: IncomingMessage, response: ServerResponse) =>
        byPath.get(request.url!)!(request, response);
      return served(closing);
    },
  },
};
