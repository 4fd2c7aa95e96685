// What handlers do behind Nest, which the adapter for Express serves.

import "reflect-metadata";
import { Controller, Get, HttpCode, HttpException, Module, Next, Post, Req, Res } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { expressIdempotency } from "@cronce/idempotency/express";
import type { NextFunction, Request, Response } from "express";
import { expressIdioms, type Given } from "./express.js";
import { listening, plain, run, type Framework } from "./frameworks.js";
import { failed, refused, type Idiom } from "./idioms.js";
import { nodeIdioms, socketIdioms } from "./node.js";

const ofExpress = ["json", "send of a string", "sendStatus", "redirect", "throws after json", "two answers"];

const nestIdioms: Record<string, Idiom<Given>> = {
  ...Object.fromEntries(
    Object.entries({ ...nodeIdioms, ...socketIdioms }).map(([name, idiom]): [string, Idiom<Given>] => [
      `node: ${name}`,
      // Nest answers an error with such a status 500 itself.
      idiom.want.code === "success_after_rollback" ? { ...idiom, want: failed() } : idiom,
    ]),
  ),
  ...Object.fromEntries(ofExpress.map((name) => [`express: ${name}`, expressIdioms[name]!])),
  "an HttpException": {
    answers: ({ response }) => {
      response.setHeader("X-Work", "1");
      throw new HttpException("declined", 409);
    },
    want: failed(409),
  },
  "an HttpException of a success": {
    answers: () => {
      throw new HttpException("paid", 200);
    },
    want: refused("success_after_rollback"),
  },
};

export const nest: Framework = {
  idioms: nestIdioms,
  async start(kit, routes, closing) {
    const idempotent = expressIdempotency(kit, { principal: () => "alice" });
    class Payments {
      pay(request: Request, response: Response, next: NextFunction): void {
        const route = routes.find(({ path }) => path === request.path)!;
        const handler = idempotent(route, (request, response, tx) => {
          const operation = String(request.headers["idempotency-key"]);
          return run(route, tx, operation, { request, response, more: () => route.write(tx, operation) });
        });
        void handler(request, response, next);
      }
      plain(): Promise<string> {
        return plain();
      }
    }
    class Payment {}
    // As decorators do.
    const of = (method: "pay" | "plain") => Object.getOwnPropertyDescriptor(Payments.prototype, method)!;
    [Req(), Res(), Next()].forEach((parameter, index) => parameter(Payments.prototype, "pay", index));
    HttpCode(200)(Payments.prototype, "pay", of("pay"));
    Post(":idiom")(Payments.prototype, "pay", of("pay"));
    Get("plain")(Payments.prototype, "plain", of("plain"));
    Controller()(Payments);
    Module({ controllers: [Payments] })(Payment);
    const app = await NestFactory.create(Payment, { bodyParser: false, logger: false });
    closing(() => app.close());
    await app.listen(0, "127.0.0.1");
    return listening(app.getHttpServer() as never, closing);
  },
};
