// A connection of HTTP/2. What RFC 9113 forbids, its parser refuses.

import { connect, type IncomingHttpHeaders, type IncomingHttpStatusHeader } from "node:http2";
import type { Client, Seen } from "./wire.js";

/** Wire2 is a connection of HTTP/2. */
export class Wire2 implements Client {
  #received = "";
  #answer: Promise<Seen> | undefined;
  readonly #session;

  constructor(port: number) {
    this.#session = connect(`http://127.0.0.1:${port}`);
    this.#session.on("error", () => {});
    this.#session.on("stream", () => (this.#received += "a pushed stream"));
    this.#session.setTimeout(20_000, () => this.#session.destroy());
  }

  get rest(): string {
    return this.#received;
  }

  send(path: string, headers: Record<string, string>): void {
    const stream = this.#session.request({ ":method": "POST", ":path": path, ...headers });
    stream.setEncoding("latin1");
    let head: (IncomingHttpHeaders & IncomingHttpStatusHeader) | undefined;
    stream.on("headers", () => (this.#received += "an informational answer"));
    stream.on("trailers", () => (this.#received += "trailers"));
    stream.on("response", (h) => {
      head = h;
      this.#received += "h";
    });
    let body = "";
    stream.on("data", (chunk: string) => (body += chunk));
    this.#answer = new Promise((resolve, reject) => {
      stream.on("error", reject);
      stream.on("close", () => reject(new Error("the connection was closed after nothing")));
      stream.on("end", () => {
        if (head === undefined) {
          return;
        }
        const values = Object.entries(head).flatMap(([name, value]) =>
          name.startsWith(":") ? [] : [value ?? []].flat().map((v): [string, string] => [name, v]),
        );
        const seen = { status: head[":status"]!, headers: new Headers(values), body };
        const length = seen.headers.get("content-length");
        if (length !== null && Number(length) !== body.length && seen.status !== 304) {
          reject(new Error(`the Content-Length is ${length}, and the body has ${body.length} bytes`));
        }
        this.#received = this.#received.replace("h", "");
        resolve(seen);
      });
    });
    this.#answer.catch(() => {});
    stream.end("{}");
  }

  answer(): Promise<Seen> {
    return this.#answer!;
  }

  close(): void {
    this.#session.destroy();
  }
}
