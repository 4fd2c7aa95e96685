// The caller's side: a key that outlives a reload, a retry and a restart. It
// needs nothing of Node.js, so that it runs in browsers too.

/** uuidv7 is a UUID of version 7 (RFC 9562): a time in milliseconds, then random bits. */
export function uuidv7(now: number = Date.now()): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  for (let i = 0; i < 6; i++) {
    bytes[i] = Math.floor(now / 2 ** (8 * (5 - i))) % 256;
  }
  bytes[6] = (bytes[6]! & 0x0f) | 0x70;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** timeOf is the time in a UUID of version 7, in milliseconds. */
export function timeOf(uuid: string): number {
  return parseInt(uuid.replaceAll("-", "").slice(0, 12), 16);
}

/** KeyStorage is where pending keys are kept. `localStorage` is one. */
export interface KeyStorage {
  getItem(name: string): string | null | Promise<string | null>;
  setItem(name: string, value: string): void | Promise<void>;
  removeItem(name: string): void | Promise<void>;
}

/** memoryStorage keeps keys as long as the process lives. */
export function memoryStorage(): KeyStorage {
  const items = new Map<string, string>();
  return {
    getItem: (name) => items.get(name) ?? null,
    setItem: (name, value) => void items.set(name, value),
    removeItem: (name) => void items.delete(name),
  };
}

/** KeyKeeperOptions configure a {@link KeyKeeper}. */
export interface KeyKeeperOptions {
  /** Where pending keys are kept; default in memory. In a browser pass `localStorage`. */
  readonly storage?: KeyStorage;
  /** Put before the operation's name in the storage; default "idempotency-key:". */
  readonly prefix?: string;
  /**
   * For how long an operation is repeated, in milliseconds; default 12 h. It must be
   * shorter than `ttlMs`. After it the server refuses the operation (412), unless it
   * was done.
   */
  readonly repeatForMs?: number;
  /**
   * How long the server keeps the keys of these operations, in milliseconds; default
   * 24 h, as the kit's. A keeper that learns from an answer that it is not longer than
   * `repeatForMs` begins no further operation: a repetition could do the work again.
   */
  readonly ttlMs?: number;
}

/** Pending is an operation whose outcome is unknown. */
export interface Pending {
  readonly key: string;
  /** Idempotency-Key and Cronce-Send-Before. */
  readonly headers: Readonly<Record<"Idempotency-Key" | "Cronce-Send-Before", string>>;
}

/** SENT marks the stored key of an operation whose call was begun. */
const SENT = " sent";

/** turnsOf holds, for each storage, the last use of each name by any keeper. */
const turnsOf = new WeakMap<KeyStorage, Map<string, Promise<unknown>>>();

/**
 * KeyKeeper gives an operation one key and keeps it until the operation's outcome
 * is known, so that a retry after a lost answer, a reload or a crash repeats the
 * operation and does not begin another one.
 */
export class KeyKeeper {
  readonly #storage: KeyStorage;
  readonly #prefix: string;
  readonly #repeatForMs: number;
  #ttlMs: number;
  readonly #turns: Map<string, Promise<unknown>>;

  constructor(options: KeyKeeperOptions = {}) {
    this.#storage = options.storage ?? memoryStorage();
    this.#turns = turnsOf.get(this.#storage) ?? new Map();
    turnsOf.set(this.#storage, this.#turns);
    this.#prefix = options.prefix ?? "idempotency-key:";
    this.#repeatForMs = options.repeatForMs ?? 12 * 60 * 60 * 1000;
    this.#ttlMs = options.ttlMs ?? 24 * 60 * 60 * 1000;
    if (!(this.#repeatForMs > 0)) {
      throw new TypeError("KeyKeeper: repeatForMs must be above 0");
    }
    this.#check();
  }

  #check(): void {
    if (!(this.#repeatForMs < this.#ttlMs)) {
      throw new TypeError(
        `KeyKeeper: repeatForMs is ${this.#repeatForMs} and the service keeps keys for ${this.#ttlMs} ms, so that a repetition could do the work again; make repeatForMs shorter, or the service's ttlMs longer`,
      );
    }
  }

  /** pending returns the operation's key, which it draws and stores the first time. */
  async pending(operation: string): Promise<Pending> {
    return (await this.#take(operation, false))[0];
  }

  /** #take returns the operation's key, and whether a call with it was begun before. */
  #take(operation: string, sending: boolean): Promise<[pending: Pending, repeated: boolean]> {
    const name = this.#prefix + operation;
    return this.#inTurn(name, async () => {
      const stored = await this.#storage.getItem(name);
      if (stored === null) {
        this.#check();
      }
      const key = stored?.replace(SENT, "") ?? uuidv7();
      const value = sending ? key + SENT : (stored ?? key);
      if (value !== stored) {
        await this.#storage.setItem(name, value); // before it is used: a crash must not forget it
      }
      const before = new Date(timeOf(key) + this.#repeatForMs).toISOString();
      const headers = { "Idempotency-Key": key, "Cronce-Send-Before": before };
      return [{ key, headers }, stored?.endsWith(SENT) ?? false];
    });
  }

  /** forget ends an operation: the next one of this name gets a new key. */
  forget(operation: string): Promise<void> {
    return this.#forget(operation, () => true);
  }

  #forget(operation: string, ends: (stored: string | null) => boolean): Promise<void> {
    const name = this.#prefix + operation;
    return this.#inTurn(name, async () => {
      if (ends(await this.#storage.getItem(name))) {
        await this.#storage.removeItem(name);
      }
    });
  }

  /**
   * send makes the operation's call. It forgets the key when the answer is the
   * operation's outcome ({@link isOutcome}), and keeps it after every other answer
   * and every error. A repetition may be refused by what is in front of the service,
   * such as an ingress during a deploy, although the operation was done. So only a
   * 2xx, or an answer that the service gives for the key, is the outcome of a repetition.
   * A 202 with Retry-After is none: long work goes on, and only a repetition learns how it
   * ends, or continues it after a crash of the service.
   * A 412 is no outcome once the key may have expired: perhaps the operation was done
   * and its answer lost. Find that out, and then call forget.
   */
  async send(operation: string, call: (pending: Pending) => Promise<Response>): Promise<Response> {
    const [pending, repeated] = await this.#take(operation, true);
    const response = await call(pending);
    const lost = response.status === 412 && Date.now() >= timeOf(pending.key) + this.#ttlMs;
    if (isOutcome(response.status) && !lost && (await isOfOperation(response, repeated))) {
      await this.#forget(operation, (stored) => stored === pending.key + SENT); // not the next operation of this name
    }
    this.#learn(response.headers);
    return response;
  }

  /** #learn takes the TTL from the answer to a first call, which says by the server's clock when it is and when the key expires. */
  #learn(headers: Headers): void {
    const ttl = Date.parse(headers.get("Idempotency-Key-Expires") ?? "") - Date.parse(headers.get("Date") ?? "");
    if (ttl < this.#ttlMs && !headers.has("Idempotent-Replayed")) {
      this.#ttlMs = ttl;
    }
  }

  /** #inTurn keeps two callers from drawing two keys for one operation. */
  #inTurn<T>(name: string, fn: () => Promise<T>): Promise<T> {
    const turn = (this.#turns.get(name) ?? Promise.resolve()).then(fn);
    const ended = turn.then(
      () => {},
      () => {},
    );
    this.#turns.set(name, ended);
    void ended.then(() => this.#turns.get(name) === ended && this.#turns.delete(name));
    return turn;
  }
}

/**
 * isOutcome reports whether a status says what came of an operation: it was done,
 * refused for good, or (412) not done and no longer to be done. After every other
 * status it may have been done, or may be done by a repetition: 401, 403, 408,
 * 409, 425, 429 and 5xx.
 */
export function isOutcome(status: number): boolean {
  return (status >= 200 && status < 400) || [400, 404, 405, 410, 412, 413, 415, 422].includes(status);
}

/**
 * isOfOperation reports whether an outcome is that of the operation. The kit's header
 * fields are on stored answers only, which a 202 about long work is not. A service may answer 422 for a key that belongs to
 * another payload, which was perhaps done.
 */
async function isOfOperation(response: Response, repeated: boolean): Promise<boolean> {
  const { ok, status, headers } = response;
  if (headers.has("Idempotency-Key-Expires") || headers.has("Idempotent-Replayed")) {
    return true;
  }
  if (ok) {
    return status !== 202 || !headers.has("Retry-After");
  }
  const code = await codeOf(response);
  return repeated ? code === "run_too_late" : code !== "idempotency_key_payload_mismatch";
}

/** codeOf is the code of a problem document; undefined without one, or if the caller has read the body. */
async function codeOf(response: Response): Promise<unknown> {
  try {
    return ((await response.clone().json()) as { code?: unknown } | null)?.code;
  } catch {
    return undefined;
  }
}
