// The kit: the entry points to a store, with their options.

import { Caller, type Effect } from "./once/call.js";
import { FinalError, KitError, replyTooLarge, transactionEnded } from "./errors.js";
import { payloadFingerprint } from "./fingerprint/fingerprint.js";
import { HttpHandlers } from "./http/handlers.js";
import { complete, type Options } from "./options.js";
import type { Reply } from "./reply.js";
import { OnceRunner } from "./once/once.js";
import type { Claim, Store } from "./store.js";

/** Operation names one piece of work for {@link Kit.once} and {@link Kit.callOnce}. */
export interface Operation {
  /** What happened and who handles it, such as `event:order.placed.v1/commission`. */
  readonly scope: string;
  /** Whose key it is; default "-", the service itself. */
  readonly principal?: string;
  /** The event's ID, or whatever names the operation in the scope. */
  readonly key: string;
  /**
   * What must be the same on every repetition: a string or bytes are compared as
   * they are (JSON text by its meaning), any other value by its JSON.
   */
  readonly payload?: unknown;
  /** Overrides the kit's TTL for the scope. */
  readonly ttlMs?: number;
  /** Refuses to start work from then on. */
  readonly sendBefore?: Date;
}

/** Once is what an operation came to. */
export interface Once<T> {
  readonly result: T;
  /** It had been done before; nothing was run. */
  readonly duplicate: boolean;
}

/** Lifetimes is how long keys are kept, as durations of ISO 8601; `scopes` overrides by key scope. */
export interface Lifetimes {
  readonly "idempotency-key-lifetime": string;
  readonly scopes: Readonly<Record<string, string>>;
}

const iso8601 = (ms: number): string => `PT${Math.trunc(ms / 1000)}S`;

/** The status under which a final error is stored among the replies of `once`. */
const FINAL = 422;

/**
 * Kit answers repeated calls from a store. A process needs one for each store.
 * The HTTP adapters take it; events and vendor calls use its methods.
 */
export class Kit<Tx> {
  /** @internal */
  readonly http: HttpHandlers<Tx>;
  readonly #runner: OnceRunner<Tx>;

  constructor(
    readonly store: Store<Tx>,
    options: Options = {},
  ) {
    this.#runner = new OnceRunner(store, complete(options));
    this.http = new HttpHandlers(this.#runner);
  }

  /**
   * ready checks the store before the first call: its table, columns and
   * privileges. Call it when the service starts. The error says what to do.
   */
  async ready(): Promise<void> {
    await this.#runner.exchange("check the table", (signal) => this.store.check(signal));
  }

  /**
   * lifetimes says how long completed keys are kept. A service answers
   * GET /.well-known/idempotency-key-lifetime with it as JSON, so that a caller can
   * compare it before its first call. The TTL of a single route is not in it.
   */
  lifetimes(): Lifetimes {
    const { ttlMs, ttlsMs } = this.#runner.options;
    return {
      "idempotency-key-lifetime": iso8601(ttlMs),
      scopes: Object.fromEntries(Object.entries(ttlsMs).map(([scope, ms]) => [scope, iso8601(ms)])),
    };
  }

  /**
   * shutdown ends long work before the process does. From then on requests that
   * would start work are answered 503; those about running work still get 202. It
   * waits for the work that runs, for at most `graceMs`. Then it aborts the work's
   * signal and frees the keys of the work that returns within `storeTimeoutMs`, so that
   * the next request starts this work again in another process. Any other key is free
   * when its lease ends. It then throws `service_shutting_down`.
   */
  shutdown(graceMs = 25_000): Promise<void> {
    return this.http.works.shutdown(graceMs);
  }

  /**
   * once runs the work once for the operation's key, in a transaction, and stores
   * its result as JSON for every repetition. An error of the work rolls it back and
   * leaves the key free, unless it is a {@link FinalError}.
   */
  async once<T>(op: Operation, work: (tx: Tx, signal: AbortSignal) => Promise<T>): Promise<Once<T>> {
    const { reply, replayed } = await this.#runner.once(this.#claim(op), async (tx, signal) => {
      try {
        return { reply: this.#reply(await work(tx, signal)), then: "commit" };
      } catch (error) {
        if (!(error instanceof FinalError)) {
          throw error;
        }
        return { reply: { ...this.#reply({ error: error.message, result: null }), status: FINAL }, then: "record" };
      }
    });
    return { result: decode<T>(reply), duplicate: replayed };
  }

  /**
   * callOnce makes a call to the world outside at most once for the operation's
   * key. It reserves the key and commits that, then makes the call, then stores its
   * result. A process that dies in between leaves the outcome unknown: the next
   * callOnce reconciles it, and never makes the call again unasked.
   */
  async callOnce<T>(op: Operation, effect: Effect<T>): Promise<Once<T>> {
    const caller = new Caller(this.#runner, this.#claim(op), effect, (result) => this.#reply(result));
    const { reply, replayed } = await caller.call();
    return { result: decode<T>(reply), duplicate: replayed };
  }

  #claim(op: Operation): Claim {
    const key = { scope: op.scope, principal: op.principal ?? "-", value: op.key };
    const claim = this.#runner.claim(key, payloadFingerprint(op.payload), op);
    return { ...claim, ...(op.sendBefore && { sendBefore: op.sendBefore }) };
  }

  #reply(result: unknown): Reply {
    const body = Buffer.from(JSON.stringify(result) ?? "null");
    const { maxStoredBody } = this.#runner.options;
    if (body.length > maxStoredBody) {
      throw replyTooLarge(
        `the result has ${body.length} bytes of JSON, more than maxStoredBody (${maxStoredBody}); return less, or a reference`,
      );
    }
    return { status: 0, headers: {}, body, omitted: false };
  }
}

function decode<T>(reply: Reply): T {
  if (reply.omitted) {
    throw transactionEnded();
  }
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(reply.body).toString());
  } catch (cause) {
    throw new KitError("transaction_aborted", "the stored result is not JSON", { cause });
  }
  if (reply.status === FINAL) {
    throw new FinalError((value as { error: string }).error);
  }
  return value as T;
}
