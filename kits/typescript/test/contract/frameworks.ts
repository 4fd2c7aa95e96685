// The frameworks of the contract.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import * as http2 from "node:http2";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import type { Kit } from "@cronce/idempotency";
import { expressIdempotency } from "@cronce/idempotency/express";
import { fetchIdempotency } from "@cronce/idempotency/fetch";
import { fastifyIdempotency } from "@cronce/idempotency/fastify";
import { honoIdempotency } from "@cronce/idempotency/hono";
import { nodeIdempotency } from "@cronce/idempotency/node";
import { serve } from "@hono/node-server";
import express, { type NextFunction, type Request, type Response } from "express";
import type { Tx } from "./engines.js";
import fastify from "fastify";
import { Hono, type Context, type MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import { HTTPException } from "hono/http-exception";
import { secureHeaders } from "hono/secure-headers";
import { expressIdioms } from "./express.js";
import { fastify4Idioms, fastify5Idioms, fastifyIdioms, slowFastifyIdioms } from "./fastify.js";
import { fetchIdioms } from "./fetch.js";
import { honoIdioms } from "./hono.js";
import { clients, type Idiom } from "./idioms.js";
import { koa } from "./koa.js";
import { nest } from "./nest.js";
import { nodeIdioms, socketIdioms, streamIdioms } from "./node.js";
import { Wire, type Client } from "./wire.js";
import { Wire2 } from "./wire2.js";

/** Route is an idiom where it can be called. */
export interface Route<H = never> {
  readonly path: string;
  readonly scope: string;
  readonly idiom: Idiom<H>;
  readonly maxRunMs: number;
  write(tx: Tx, operation: string): Promise<unknown>;
}

/** Framework serves idioms. */
export interface Framework {
  readonly idioms: Record<string, Idiom<never>>;
  readonly http2?: true;
  /** The path before that of an idiom. */
  readonly base?: string;
  /** start serves the idioms, and after a pause "plain" for GET /plain. It returns the port. */
  start(kit: Kit<Tx>, routes: Route[], closing: (close: () => unknown) => void): Promise<number>;
}

const key = (headers: NodeJS.Dict<string | string[]>) => String(headers["idempotency-key"]);
const principal = () => "alice";

/** run writes the effect and answers: at once, or in a callback of the driver. */
export function run<H>(route: Route, tx: Tx, operation: string, given: H): unknown {
  const { answers, callback } = route.idiom as Idiom<H>;
  const written = route.write(tx, operation);
  if (callback) {
    void written.then(() => answers(given));
    return undefined;
  }
  return written.then(() => answers(given));
}

const PAUSE_MS = 5;
export const plain = () => new Promise<string>((resolve) => setTimeout(() => resolve("plain"), PAUSE_MS));

/** connected connects a client to a framework. */
export const connected = (framework: Framework, port: number): Client =>
  framework.http2 ? new Wire2(port) : new Wire(port);

/** watched keeps the real responses of a server for idioms that reach for them. */
function watched<S extends Pick<Server, "prependListener">>(server: S): S {
  server.prependListener("request", (request: IncomingMessage, response: ServerResponse) => {
    clients.set(request, response);
  });
  return server;
}

export async function listening(server: Server, closing: (close: () => unknown) => void): Promise<number> {
  watched(server);
  closing(() => server.close().closeAllConnections());
  await new Promise<void>((resolve) => (server.listening ? resolve() : server.once("listening", resolve)));
  return (server.address() as AddressInfo).port;
}

const express4 = createRequire(import.meta.url)("express4") as typeof express;

/** expressOf serves idioms with a version of Express. */
function expressOf(make: typeof express): Framework {
  return {
    idioms: { ...prefixed("node: ", { ...nodeIdioms, ...socketIdioms }), ...expressIdioms },
    async start(kit, routes, closing) {
      const idempotent = expressIdempotency(kit, { principal });
      const app = make();
      app.engine("txt", (_path, options, done) => {
        const { paid, who } = options as { paid?: string; who?: string };
        done(null, `${paid} by ${who}`);
      });
      app.set("views", new URL("../../../test/contract/views", import.meta.url).pathname).set("view engine", "txt");
      app.use((_request: Request, response: Response, next: NextFunction) => {
        const json = response.json;
        response.locals["outer"] = response;
        Object.assign(response, { paid: () => json.call(response, { wrapped: { paid: true } }) });
        next();
      });
      for (const route of routes) {
        const handler = idempotent(route, (request, response, tx) => {
          const operation = key(request.headers);
          return run(route, tx, operation, { request, response, more: () => route.write(tx, operation) });
        });
        app.post(route.path, handler);
      }
      app.get("/plain", (_request: Request, response: Response) => void plain().then((text) => response.send(text)));
      // Slow, so that what a stream still writes would come first.
      app.use((error: { status?: number; message: string }, _q: Request, response: Response, _next: NextFunction) => {
        setTimeout(() => response.status(error.status ?? 500).send(error.message), 5);
      });
      return listening(app.listen(0, "127.0.0.1"), closing);
    },
  };
}

const fastify4 = createRequire(import.meta.url)("fastify4") as typeof fastify;

/** fastifyOf serves idioms with a version of Fastify, whose hooks are slow or not. */
function fastifyOf(make: typeof fastify, idioms: Framework["idioms"], slow: boolean): Framework {
  return {
    idioms,
    async start(kit, routes, closing) {
      const idempotent = fastifyIdempotency(kit, { principal });
      const app = make();
      if (slow) {
        const later = () => new Promise<void>((resolve) => setImmediate(resolve));
        app.addHook("preSerialization", async (_request, _reply, payload) => later().then(() => payload));
        app.addHook("onSend", async (_request, _reply, payload) => later().then(() => payload));
        app.setErrorHandler(async (error: { statusCode?: number; message: string }, _request, reply) => {
          await later();
          return reply.code(error.statusCode ?? 500).send({ message: error.message });
        });
      }
      for (const route of routes) {
        const handler = idempotent(route, (request, reply, tx) => {
          const operation = key(request.headers);
          return run(route, tx, operation, { request, reply, more: () => route.write(tx, operation) });
        });
        app.post(route.path, handler);
      }
      app.get("/plain", plain);
      watched(app.server);
      closing(() => app.close());
      await app.listen({ port: 0, host: "127.0.0.1" });
      return (app.server.address() as AddressInfo).port;
    },
  };
}

/** honoOf serves idioms with Hono, behind middleware or not, and with the kit as a middleware or around handlers. */
const honoOf = (form: "middleware" | "wrapper", ...outside: MiddlewareHandler[]): Framework => ({
  idioms: honoIdioms,
  async start(kit, routes, closing) {
    const idempotent = honoIdempotency(kit, { principal });
    const app = new Hono();
    for (const middleware of outside) {
      app.use(middleware);
    }
    app.onError((error, c) => {
      return error instanceof HTTPException
        ? error.getResponse()
        : c.text(error.message, ((error as { status?: number }).status ?? 500) as 500);
    });
    for (const route of routes) {
      const handler = (c: Context<{ Variables: { tx: Tx } }>) => {
        const operation = c.req.header("Idempotency-Key")!;
        const { tx } = c.var;
        return run(route, tx, operation, { c, more: () => route.write(tx, operation) }) as Promise<globalThis.Response>;
      };
      if (form === "wrapper") {
        app.post(route.path, idempotent(route, handler));
      } else {
        app.post(route.path, idempotent(route), handler);
      }
    }
    app.get("/plain", async (c) => c.text(await plain()));
    return listening(serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }) as Server, closing);
  },
});

/** before and after the route set headers, as middleware does. */
const setting: MiddlewareHandler = async (c, next) => {
  c.header("X-Before", "1");
  await next();
  c.header("X-After", "1");
};

const fetchFramework: Framework = {
  idioms: fetchIdioms,
  async start(kit, routes, closing) {
    const idempotent = fetchIdempotency(kit, { principal });
    const handlers = new Map(
      routes.map((route) => [
        route.path,
        idempotent(route, (request, tx) => {
          const operation = request.headers.get("Idempotency-Key")!;
          const given = { request, more: () => route.write(tx, operation) };
          return run(route, tx, operation, given) as Promise<globalThis.Response>;
        }),
      ]),
    );
    const fetch = async (request: globalThis.Request) => {
      const handler = handlers.get(new URL(request.url).pathname);
      return handler ? handler(request) : new Response(await plain());
    };
    return listening(serve({ fetch, port: 0, hostname: "127.0.0.1" }) as Server, closing);
  },
};

export function prefixed<H>(prefix: string, idioms: Record<string, H>): Record<string, H> {
  return Object.fromEntries(Object.entries(idioms).map(([name, idiom]) => [prefix + name, idiom]));
}

/** listener serves idioms without a framework. */
function listener(kit: Kit<Tx>, routes: Route[]) {
  const idempotent = nodeIdempotency(kit, { principal, onError: answerError });
  const listeners = new Map<string, (request: IncomingMessage, response: ServerResponse) => unknown>(
    routes.map((route) => [
      route.path,
      idempotent(route, (request, response, tx) => {
        const operation = key(request.headers);
        return run(route, tx, operation, { request, response, more: () => route.write(tx, operation) });
      }),
    ]),
  );
  listeners.set("/plain", async (_request, response) => response.end(await plain()));
  return (request: IncomingMessage, response: ServerResponse) => void listeners.get(request.url!)!(request, response);
}

export function answerError(error: unknown, _request: IncomingMessage, response: ServerResponse): void {
  const { status = 500, message } = error as { status?: number; message: string };
  response.writeHead(status).end(message);
}

export const frameworks: Record<string, Framework> = {
  "node:http": {
    idioms: { ...nodeIdioms, ...socketIdioms },
    start: (kit, routes, closing) => listening(createServer(listener(kit, routes)).listen(0, "127.0.0.1"), closing),
  },
  "HTTP/2": {
    idioms: { ...nodeIdioms, ...streamIdioms },
    http2: true,
    async start(kit, routes, closing) {
      const server = http2.createServer(listener(kit, routes) as never).listen(0, "127.0.0.1");
      watched(server as never);
      closing(() => server.close());
      await new Promise((resolve) => server.once("listening", resolve));
      return (server.address() as AddressInfo).port;
    },
  },
  "Express 5": expressOf(express),
  "Express 4": expressOf(express4),
  "Fastify 5": fastifyOf(fastify, { ...fastifyIdioms, ...fastify5Idioms }, false),
  "Fastify 5 with slow hooks": fastifyOf(fastify, { ...slowFastifyIdioms, ...fastify5Idioms }, true),
  "Fastify 4": fastifyOf(fastify4, { ...fastifyIdioms, ...fastify4Idioms }, false),
  "Fastify 4 with slow hooks": fastifyOf(fastify4, { ...slowFastifyIdioms, ...fastify4Idioms }, true),
  "Hono 4": honoOf("wrapper"),
  "Hono 4, the kit as a middleware": honoOf("middleware"),
  "Hono 4 behind middleware": honoOf("wrapper", cors(), secureHeaders(), setting),
  fetch: fetchFramework,
  "Koa 3": koa,
  "Nest 12": nest,
};
