// A client that sees every byte on its connection.

import { connect } from "node:net";

/** Seen is one answer as it came, with what came after it on the connection. */
export interface Seen {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string; // latin1
  readonly extra: string;
}

/** Wire is one connection to a service. */
export class Wire {
  received = Buffer.alloc(0);
  readonly #socket;
  #closed = false;
  #changed: () => void = () => {};

  constructor(port: number) {
    this.#socket = connect(port, "127.0.0.1");
    this.#socket.on("data", (chunk) => {
      this.received = Buffer.concat([this.received, chunk]);
      this.#changed();
    });
    this.#socket.setTimeout(20_000, () => this.#socket.destroy());
    this.#socket.on("error", () => {});
    this.#socket.on("close", () => {
      this.#closed = true;
      this.#changed();
    });
  }

  send(path: string, headers: Record<string, string>): void {
    this.received = Buffer.alloc(0);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    this.#socket.write(`POST ${path} HTTP/1.1\r\nHost: shop.test\r\n${lines.join("")}Content-Length: 2\r\n\r\n{}`);
  }

  /** answer waits for a whole answer, and for the connection to be idle after it. */
  async answer(): Promise<Seen> {
    for (;;) {
      const seen = parse(this.received.toString("latin1"));
      if (seen !== undefined) {
        await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
        return parse(this.received.toString("latin1"))!;
      }
      if (this.#closed) {
        throw new Error(`the connection was closed after ${JSON.stringify(this.received.toString("latin1"))}`);
      }
      await new Promise<void>((resolve) => (this.#changed = resolve));
    }
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** parse reads an answer; undefined: it is not complete. */
function parse(text: string): Seen | undefined {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) {
    return undefined;
  }
  const [first = "", ...lines] = text.slice(0, end).split("\r\n");
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]);
  if (Number.isNaN(status)) {
    throw new Error(`not an answer: ${JSON.stringify(text)}`);
  }
  const headers = new Headers(lines.map((line) => /^([^:]+): ?(.*)$/.exec(line)!.slice(1) as [string, string]));
  let rest = text.slice(end + 4);
  let body = "";
  if (headers.get("transfer-encoding") === "chunked") {
    for (;;) {
      const [, digits] = /^([0-9a-f]+)\r\n/i.exec(rest) ?? [];
      const size = parseInt(digits ?? "", 16);
      if (digits === undefined || rest.length < digits.length + size + 4) {
        return undefined;
      }
      body += rest.slice(digits.length + 2, digits.length + 2 + size);
      rest = rest.slice(digits.length + 4 + size);
      if (size === 0) {
        return { status, headers, body, extra: rest };
      }
    }
  }
  const length = status === 204 || status === 304 ? 0 : Number(headers.get("content-length"));
  return rest.length < length ? undefined : { status, headers, body: rest.slice(0, length), extra: rest.slice(length) };
}
