// The canonical form of JSON (RFC 8785), by which payloads are compared.

const MAX_DEPTH = 500;

class NotCanonical extends Error {}

/**
 * canonicalJSON returns the RFC 8785 form of a JSON text. It returns undefined
 * when the text is not JSON, or when that form would equate texts that a reader
 * may tell apart: a name that occurs twice in an object, a number that does not
 * survive as a float64, a lone surrogate, bytes that are not UTF-8.
 */
export function canonicalJSON(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return new Canonicalizer(text).document();
  } catch (e) {
    if (e instanceof NotCanonical || e instanceof TypeError || e instanceof SyntaxError) {
      return undefined;
    }
    throw e;
  }
}

const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const SPACE = /[ \t\r\n]*/y;

class Canonicalizer {
  #at = 0;

  constructor(readonly text: string) {}

  document(): string {
    const value = this.#value(0);
    this.#space();
    if (this.#at !== this.text.length) {
      throw new NotCanonical("text after the value");
    }
    return value;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.text)?.[0];
    if (found !== undefined) {
      this.#at += found.length;
    }
    return found;
  }

  #space(): void {
    this.#match(SPACE);
  }

  #take(character: string): boolean {
    this.#space();
    if (this.text[this.#at] !== character) {
      return false;
    }
    this.#at++;
    return true;
  }

  #expect(character: string): void {
    if (!this.#take(character)) {
      throw new NotCanonical(`${character} expected`);
    }
  }

  #value(depth: number): string {
    if (depth > MAX_DEPTH) {
      throw new NotCanonical("nested too deeply");
    }
    this.#space();
    switch (this.text[this.#at]) {
      case "{":
        return this.#object(depth);
      case "[":
        return this.#array(depth);
      case '"':
        return JSON.stringify(this.#string());
    }
    for (const literal of ["true", "false", "null"]) {
      if (this.text.startsWith(literal, this.#at)) {
        this.#at += literal.length;
        return literal;
      }
    }
    return this.#number();
  }

  #string(): string {
    this.#space();
    const quoted = this.#match(STRING);
    if (quoted === undefined) {
      throw new NotCanonical("string expected");
    }
    const text = JSON.parse(quoted) as string;
    if (!text.isWellFormed()) {
      throw new NotCanonical("lone surrogate");
    }
    return text;
  }

  #array(depth: number): string {
    this.#expect("[");
    const items: string[] = [];
    if (this.#take("]")) {
      return "[]";
    }
    do {
      items.push(this.#value(depth + 1));
    } while (this.#take(","));
    this.#expect("]");
    return `[${items.join(",")}]`;
  }

  // Members are sorted by their names' UTF-16 code units (RFC 8785, section
  // 3.2.3), which is how JavaScript compares strings.
  #object(depth: number): string {
    this.#expect("{");
    const members = new Map<string, string>();
    if (this.#take("}")) {
      return "{}";
    }
    do {
      const name = this.#string();
      this.#expect(":");
      if (members.has(name)) {
        throw new NotCanonical("a name occurs twice in an object");
      }
      members.set(name, this.#value(depth + 1));
    } while (this.#take(","));
    this.#expect("}");
    const names = [...members.keys()].sort();
    return `{${names.map((name) => `${JSON.stringify(name)}:${members.get(name)}`).join(",")}}`;
  }

  #number(): string {
    const literal = this.#match(NUMBER);
    if (literal === undefined) {
      throw new NotCanonical("value expected");
    }
    const number = Number(literal);
    const text = JSON.stringify(number); // -0 becomes 0, as RFC 8785 has it
    if (!Number.isFinite(number) || decimal(literal) !== decimal(text)) {
      throw new NotCanonical("a number that a float64 cannot hold");
    }
    return text;
  }
}

/** decimal is a number's sign, significant digits and exponent of the last digit. */
function decimal(literal: string): string {
  const [mantissa = "", power = "0"] = literal.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.replace("-", "").split(".");
  const digits = (whole + fraction).replace(/^0+/, "");
  const short = digits.replace(/0+$/, "");
  if (short === "") {
    return "0";
  }
  const exponent = Number(power) - fraction.length + digits.length - short.length;
  return `${mantissa.startsWith("-") ? "-" : ""}${short}e${exponent}`;
}
