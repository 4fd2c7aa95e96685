// The one way in which a Content-Type is written for the fingerprint (RFC 2045,
// RFC 2231). Strings hold one byte a character, as Node.js gives headers.

const TOKEN = /^[!#$%&'*+.^_`|{}~0-9A-Za-z-]+/;
const SPACE = /^[\t-\r ]+/;
const TSPECIALS = '()<>@,;:\\"/[]?=';

/** lower writes ASCII in lower case. */
export const lower = (text: string) => text.replace(/[A-Z]/g, (c) => c.toLowerCase());
const isToken = (text: string) => TOKEN.exec(text)?.[0].length === text.length && text !== "";
const skipSpace = (text: string) => text.replace(SPACE, "");

function token(text: string): [token: string, rest: string] {
  const found = TOKEN.exec(text)?.[0] ?? "";
  return [found, text.slice(found.length)];
}

/** parse reads a Content-Type; undefined when it is not one. */
export function parse(header: string): { type: string; params: Map<string, string> } | undefined {
  const end = header.indexOf(";");
  const base = end < 0 ? header : header.slice(0, end);
  const type = skipSpace(lower(base)).replace(/[\t-\r ]+$/, "");
  const [major, sub, more] = type.split("/");
  if (!isToken(major ?? "") || (sub !== undefined && !isToken(sub)) || more !== undefined) {
    return undefined;
  }
  const params = new Map<string, string>();
  const pieces = new Map<string, Map<string, string>>(); // of parameters whose name has a star
  let rest = skipSpace(header.slice(base.length));
  while (rest !== "") {
    const param = parameter(rest);
    if (param === undefined) {
      if (rest.replace(/[\t-\r ]+$/, "") === ";") {
        break;
      }
      return undefined;
    }
    const star = param.name.indexOf("*");
    let into = params;
    if (star >= 0) {
      const name = param.name.slice(0, star);
      into = pieces.get(name) ?? new Map();
      pieces.set(name, into);
    }
    if ((into.get(param.name) ?? param.value) !== param.value) {
      return undefined;
    }
    into.set(param.name, param.value);
    rest = skipSpace(param.rest);
  }
  for (const [name, of] of pieces) {
    const value = join(name, of);
    if (value !== undefined) {
      params.set(name, value);
    }
  }
  return { type, params };
}

function parameter(text: string): { name: string; value: string; rest: string } | undefined {
  if (!text.startsWith(";")) {
    return undefined;
  }
  const [name, afterName] = token(skipSpace(text.slice(1)));
  const equals = skipSpace(afterName);
  if (name === "" || !equals.startsWith("=")) {
    return undefined;
  }
  const from = skipSpace(equals.slice(1));
  const [value, rest] = from.startsWith('"') ? quoted(from) : token(from);
  return value === "" && rest === from ? undefined : { name: lower(name), value, rest };
}

function quoted(text: string): [value: string, rest: string] {
  let value = "";
  for (let i = 1; i < text.length; i++) {
    const c = text[i]!;
    if (c === '"') {
      return [value, text.slice(i + 1)];
    }
    if (c === "\\" && i + 1 < text.length && TSPECIALS.includes(text[i + 1]!)) {
      value += text[++i];
    } else if (c === "\r" || c === "\n") {
      return ["", text];
    } else {
      value += c;
    }
  }
  return ["", text];
}

/** join puts a parameter together that was sent in pieces or encoded (RFC 2231). */
function join(name: string, pieces: Map<string, string>): string | undefined {
  const whole = pieces.get(`${name}*`);
  if (whole !== undefined) {
    return decode2231(whole);
  }
  let value: string | undefined;
  for (let n = 0; ; n++) {
    const plain = pieces.get(`${name}*${n}`);
    const encoded = pieces.get(`${name}*${n}*`);
    if (plain !== undefined) {
      value = (value ?? "") + plain;
    } else if (encoded !== undefined) {
      value = (value ?? "") + ((n === 0 ? decode2231(encoded) : percentDecode(encoded)) ?? "");
    } else {
      return value;
    }
  }
}

function decode2231(text: string): string | undefined {
  const [, charset, value] = /^([^']*)'[^']*'([^]*)$/.exec(text) ?? [];
  if (value === undefined || !["us-ascii", "utf-8"].includes(lower(charset ?? ""))) {
    return undefined;
  }
  return percentDecode(value);
}

/** percentDecode decodes %XX into bytes; undefined when a % does not begin one. */
export function percentDecode(text: string): string | undefined {
  if (/%(?![0-9A-Fa-f]{2})/.test(text)) {
    return undefined;
  }
  return text.replace(/%(..)/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
}

/** percentEncode encodes the bytes that the pattern finds as %XX. */
export function percentEncode(text: string, which: RegExp): string {
  return text.replace(which, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`);
}

const byBytes = ([a]: [string, string], [b]: [string, string]) => (a < b ? -1 : 1);

/** format writes a Content-Type in one way. */
export function format(type: string, params: Map<string, string>): string {
  let text = type;
  for (const [name, value] of [...params].sort(byBytes)) {
    if (!isToken(name)) {
      return "";
    }
    if (/[^\t -~]/.test(value)) {
      text += `; ${name}*=utf-8''${percentEncode(value, /[\x00- \x7f-\xff*'%()<>@,;:\\"/[\]?=]/g)}`;
    } else {
      text += `; ${name}=${isToken(value) ? value : `"${value.replace(/["\\]/g, "\\$&")}"`}`;
    }
  }
  return text;
}
