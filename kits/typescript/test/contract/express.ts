// What Express's documentation shows of its response.

import { Buffer } from "node:buffer";
import { fileURLToPath } from "node:url";
import type { NextFunction, Request, Response } from "express";
import { done, failed, final, type Idiom } from "./idioms.js";

/** Given is what a handler has. */
export interface Given {
  readonly request: Request;
  readonly response: Response;
  readonly more: () => Promise<unknown>;
}

const file = fileURLToPath(new URL("../../../tsconfig.build.json", import.meta.url));
const hidden = { "x-work": "1" };
const json = (body: string, status = 200) => done(status, body, { "content-type": "application/json; charset=utf-8" });

export const expressIdioms: Record<string, Idiom<Given>> = {
  json: { answers: ({ response }) => response.json({ paid: true }), want: json('{"paid":true}') },
  "return of json": { answers: ({ response }) => response.status(201).json([1]), want: json("[1]", 201) },
  "json of null": { answers: ({ response }) => void response.json(null), want: json("null") },
  jsonp: { answers: ({ response }) => void response.jsonp({ paid: true }), want: json('{"paid":true}') },
  "send of a string": { answers: ({ response }) => void response.send("<p>paid"), want: done(200, "<p>paid") },
  "send of a buffer": { answers: ({ response }) => void response.send(Buffer.from("paid")), want: done(200, "paid") },
  "send of an object": { answers: ({ response }) => void response.send({ paid: true }), want: json('{"paid":true}') },
  "send of nothing": { answers: ({ response }) => void response.send(), want: done(200, "") },
  sendStatus: { answers: ({ response }) => void response.sendStatus(202), want: done(202, "Accepted") },
  "sendStatus 204": { answers: ({ response }) => void response.sendStatus(204), want: done(204, "") },
  "status and end": { answers: ({ response }) => void response.status(204).end(), want: done(204, "") },
  type: {
    answers: ({ response }) => void response.type("txt").send("paid"),
    want: done(200, "paid", { "content-type": "text/plain; charset=utf-8" }),
  },
  redirect: {
    answers: ({ response }) => void response.redirect("/payments/1"),
    want: done(302, "Found. Redirecting to /payments/1", { location: "/payments/1" }),
  },
  "redirect with a status": {
    answers: ({ response }) => void response.redirect(303, "/payments/1"),
    want: { ...done(303, ""), body: "See Other. Redirecting to /payments/1" },
  },
  "set, append, vary, links, location": {
    answers: ({ response }) => {
      response.set({ "X-Work": "1", ETag: '"a"' }).append("Link", "<a>").vary("Accept").location("/payments/1");
      response.links({ next: "/2" }).set("Cache-Control", "no-store").json(response.get("X-Work"));
    },
    want: done(200, '"1"', { location: "/payments/1", etag: '"a"', ...hidden }),
  },
  cookie: {
    answers: ({ response }) => void response.cookie("session", "1").clearCookie("former").json(1),
    want: json("1"),
  },
  attachment: {
    answers: ({ response }) => void response.attachment("a.csv").send("a,b"),
    want: done(200, "a,b", { "content-type": "text/csv; charset=utf-8" }),
  },
  format: {
    answers: ({ response }) => void response.format({ json: () => response.json({ paid: true }) }),
    want: json('{"paid":true}'),
  },
  render: {
    answers: ({ response }) => {
      response.locals["who"] = "alice";
      response.render("paid", { paid: "paid" });
    },
    want: done(200, "paid by alice"),
  },
  "render with a callback": {
    answers: ({ response }) => void response.render("paid", { paid: "paid" }, (_e, html) => response.send(html)),
    want: { kind: "done", status: 200 },
  },
  sendFile: { answers: ({ response }) => void response.sendFile(file), want: { kind: "done", status: 200 } },
  "sendFile with a callback": {
    answers: ({ response }) =>
      new Promise<void>((resolve, reject) => response.sendFile(file, (error) => (error ? reject(error) : resolve()))),
    want: { kind: "done", status: 200 },
  },
  download: { answers: ({ response }) => void response.download(file, "a.json"), want: { kind: "done", status: 200 } },
  "write and end": {
    answers: ({ response }) => {
      response.status(201).set("X-Work", "1").write("pa");
      response.end("id");
    },
    want: done(201, "paid", hidden),
  },
  "from a callback": {
    callback: true,
    answers: ({ response }) => void setImmediate(() => response.status(201).json(1)),
    want: json("1", 201),
  },
  "from a promise that is not awaited": {
    answers: ({ response, more }) => void more().then(() => response.json(1)),
    want: json("1"),
  },
  "request.res": { answers: ({ request }) => void request.res!.json(1), want: json("1") },
  "an If-None-Match that is fresh": {
    answers: ({ request, response }) => {
      request.headers["if-none-match"] = "*";
      response.json(1);
    },
    want: json("1"),
  },
  "a method that middleware has put on the response": {
    answers: ({ response }) => (response as unknown as { paid(): void }).paid(),
    want: json('{"wrapped":{"paid":true}}'),
  },
  "a write to the response of middleware outside": {
    answers: ({ response }) => (response.locals["outer"] as Response).status(201).json({ paid: true }),
    want: json('{"paid":true}', 201),
  },
  "404": { answers: ({ response }) => void response.status(404).json({ error: "no such order" }), want: final(404) },
  "503": { answers: ({ response }) => void response.status(503).set("X-Work2", "1").json(1), want: failed(503) },

  "next of the request": {
    answers: ({ request }) => (request as Request & { next: NextFunction }).next(new Error("no luck")),
    want: failed(),
  },
  "sendFile of a missing file": {
    answers: ({ response }) => void response.sendFile("/no/such/file"),
    want: final(404),
  },
  "throws with a status": {
    answers: () => {
      throw Object.assign(new Error("no luck"), { status: 409 });
    },
    want: failed(409),
  },
  "throws after json": {
    answers: ({ response }) => {
      response.status(201).set("X-Work", "1").json(1);
      throw new Error("no luck");
    },
    want: failed(),
  },
  "two answers": {
    answers: ({ response }) => {
      response.json(1);
      response.json(2);
    },
    want: failed(),
  },
  "two statuses": {
    answers: ({ response }) => void response.status(500).status(201).json(1),
    want: json("1", 201),
  },
  "a header after the answer": {
    answers: ({ response }) => {
      response.json(1);
      response.set("X-Work", "1");
    },
    want: failed(),
  },
  "middleware outside answers that it took too long": {
    answers: ({ response }) => {
      (response.locals["outer"] as Response).status(503).json("timeout");
      return new Promise(() => {});
    },
    want: failed(503),
  },
};
