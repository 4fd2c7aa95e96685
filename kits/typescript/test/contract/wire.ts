// Clients that see every byte of a connection, and take only what the RFCs allow.

import { connect } from "node:net";

/** Seen is one answer as it came. */
export interface Seen {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string; // latin1
}

/** Client is one connection to a service. */
export interface Client {
  /** rest is what has been received and is not part of an answer that was read. */
  readonly rest: string;
  send(path: string, headers: Record<string, string>): void;
  /** answer reads the next answer. It throws when the connection is closed before, or the answer is malformed. */
  answer(): Promise<Seen>;
  close(): void;
}

/** Wire is a connection of HTTP/1.1. */
export class Wire implements Client {
  #received = "";
  #closed = false;
  #changed: () => void = () => {};
  readonly #socket;

  constructor(port: number) {
    this.#socket = connect(port, "127.0.0.1");
    this.#socket.setEncoding("latin1").on("data", (chunk: string) => {
      this.#received += chunk;
      this.#changed();
    });
    this.#socket.setTimeout(20_000, () => this.#socket.destroy());
    this.#socket.on("error", () => {});
    this.#socket.on("close", () => {
      this.#closed = true;
      this.#changed();
    });
  }

  get rest(): string {
    return this.#received;
  }

  send(path: string, headers: Record<string, string>): void {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    this.write(`POST ${path} HTTP/1.1\r\nHost: shop.test\r\n${lines.join("")}Content-Length: 2\r\n\r\n{}`);
  }

  write(text: string): void {
    this.#socket.write(text);
  }

  async answer(): Promise<Seen> {
    for (;;) {
      const read = parse(this.#received);
      if (read !== undefined) {
        this.#received = this.#received.slice(read.length);
        return read.seen;
      }
      if (this.#closed) {
        throw new Error(`the connection was closed after ${JSON.stringify(this.#received)}`);
      }
      await new Promise<void>((resolve) => (this.#changed = resolve));
    }
  }

  close(): void {
    this.#socket.destroy();
  }
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** parse reads the answer at the start of a text; undefined: it is not complete. */
export function parse(text: string): { seen: Seen; length: number } | undefined {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) {
    return undefined;
  }
  const wrong = (what: string) => new Error(`${what}: ${JSON.stringify(text.slice(0, 500))}`);
  const [first = "", ...lines] = text.slice(0, end).split("\r\n");
  const status = Number(/^HTTP\/1\.1 (\d{3}) [^\r\n]*$/.exec(first)?.[1]);
  if (!(status >= 200 && status <= 599)) {
    throw wrong("not the status line of an answer");
  }
  const headers = new Headers();
  for (const line of lines) {
    const [, name = "", value = ""] = /^([^:]*):[ \t]*([^\r\n\0]*)$/.exec(line) ?? [];
    if (!TOKEN.test(name)) {
      throw wrong(`a header is malformed, ${JSON.stringify(line)}`);
    }
    if (/^(content-length|transfer-encoding|date)$/i.test(name) && headers.has(name)) {
      throw wrong(`${name} is repeated`);
    }
    headers.append(name, value);
  }
  const length = headers.get("content-length");
  const encoding = headers.get("transfer-encoding");
  if (status === 204 || status === 304) {
    if (encoding !== null || (status === 204 && length !== null)) {
      throw wrong("the length of a body that there is not");
    }
    return { seen: { status, headers, body: "" }, length: end + 4 };
  }
  if ((length === null) === (encoding === null)) {
    throw wrong("either Content-Length or Transfer-Encoding");
  }
  if (length !== null) {
    if (!/^\d+$/.test(length)) {
      throw wrong("the Content-Length is malformed");
    }
    const last = end + 4 + Number(length);
    const body = text.slice(end + 4, last);
    return text.length < last ? undefined : { seen: { status, headers, body }, length: last };
  }
  if (encoding !== "chunked") {
    throw wrong("the Transfer-Encoding is unknown");
  }
  const read = chunks(text, end + 4);
  return read && { seen: { status, headers, body: read.body }, length: read.end };
}

/** chunks reads a chunked body without trailers; undefined: it is not complete. */
function chunks(text: string, start: number): { body: string; end: number } | undefined {
  let body = "";
  for (let at = start; ;) {
    const line = text.indexOf("\r\n", at);
    if (line < 0) {
      return undefined;
    }
    const digits = text.slice(at, line);
    if (!/^[0-9a-f]+$/i.test(digits)) {
      throw new Error(`the size of a chunk is malformed, ${JSON.stringify(digits)}`);
    }
    const size = parseInt(digits, 16);
    const end = line + 2 + size;
    if (text.length < end + 2) {
      return undefined;
    }
    if (text.slice(end, end + 2) !== "\r\n") {
      throw new Error("a chunk has another size than it says");
    }
    if (size === 0) {
      return { body, end: end + 2 };
    }
    body += text.slice(line + 2, end);
    at = end + 2;
  }
}
