// Long work: work that takes longer than a caller waits. It holds its key under a
// lease, which its progress renews. The states, the table and the answers are those
// of Accept in the kit for Go.

import { FinalError, KitError, leaseLost, LostRace, replyTooLarge } from "../errors.js";
import type { Key } from "../key.js";
import type { HttpReply, Reply } from "../reply.js";
import type { OnceRunner, WorkInTx } from "./once.js";
import type { Claim, OpenTx } from "../store.js";

/** WorkRequest is the request that started the work. It can be read after its answer was sent. */
export interface WorkRequest {
  readonly method: string;
  /** Path and query as the client sent them. */
  readonly target: string;
  /** Each value of a header. */
  header(name: string): readonly string[];
  readonly body: Uint8Array;
  /** json is the body as JSON. */
  json<T = unknown>(): T;
}

/** How often a lease is renewed at most while it lasts. */
const RENEWALS = 20;

/**
 * Work is one piece of long work. A worker that does not call {@link Work.progress}
 * for as long as a lease loses its key: its signal aborts, the next request starts the
 * work again, and only the worker that has the key then can {@link Work.finish}.
 */
export class Work<Tx> {
  readonly #controller = new AbortController();
  #leaseTimer: NodeJS.Timeout | undefined; // aborts when the lease ends
  #state: "working" | "finished" | "lost" = "working";
  #busy: Promise<unknown> | undefined; // an exchange with the store
  #renewed = -Infinity; // when the lease was last renewed; not since the key was taken
  #last: Uint8Array | undefined; // the progress that is stored

  /** @internal */
  constructor(
    private readonly runner: OnceRunner<Tx>,
    private readonly claim: Claim,
    readonly request: WorkRequest,
    private readonly earlier: Uint8Array | undefined,
    asked: number, // when the lease began at the latest
    private readonly storable: (full: HttpReply) => Reply,
  ) {
    this.#last = earlier;
    this.#leaseUntil(asked + this.#leaseMs);
  }

  get key(): Key {
    return this.claim.key;
  }

  /** Aborts when the key is lost, and when the kit shuts down. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /**
   * previous is the last progress of an earlier worker that lost the key. It is undefined
   * when there is none: no worker lost the key, or the last one gave it up, since it
   * threw an error or {@link Kit.shutdown} ended it.
   */
  previous<T>(): T | undefined {
    return this.earlier === undefined ? undefined : (JSON.parse(Buffer.from(this.earlier).toString()) as T);
  }

  /**
   * progress renews the lease and stores the state, as JSON, for those who ask. Call
   * it as often as you like, and at least a few times per lease: it writes at most
   * twenty times per lease. It throws `lease_lost` when the worker has lost the key,
   * and `idempotency_store_unavailable` when the store gave no answer; the lease then
   * goes on until its end.
   */
  async progress(state: unknown): Promise<void> {
    const text = JSON.stringify(state);
    if (text === undefined) {
      throw new TypeError("the progress has no JSON: use a value that JSON can hold");
    }
    const bytes = Buffer.from(text);
    const { maxStoredBody } = this.runner.options;
    if (bytes.length > maxStoredBody) {
      throw replyTooLarge(`the progress has ${bytes.length} bytes of JSON, more than maxStoredBody (${maxStoredBody})`);
    }
    this.#check();
    if (this.#busy !== undefined || performance.now() - this.#renewed < this.#leaseMs / RENEWALS) {
      return;
    }
    await this.#exclusive(() => this.#renew(this.#leaseMs, bytes));
  }

  /**
   * finish runs fn in a transaction and commits its writes, the reply and the key
   * together. Every request with the key gets the reply from then on: a Response, or
   * 204. `maxRunMs` bounds fn; the lease is extended over it first.
   *
   * An error of fn rolls its writes back, and finish can be called again. It throws
   * `lease_lost` if another worker has the key: nothing is committed then. After
   * `idempotency_store_unavailable` call it again: it finds out whether the commit
   * happened, and fn runs again only if it did not.
   */
  async finish(fn: (tx: Tx, signal: AbortSignal) => Response | void | Promise<Response | void>): Promise<void> {
    while (this.#busy !== undefined) {
      await this.#busy.catch(() => {});
    }
    await this.#exclusive(() => this.#finish(fn));
  }

  /** @internal run runs fn and finishes what it leaves unfinished. */
  async run(fn: (work: Work<Tx>) => unknown, failed: (message: string) => Response): Promise<void> {
    try {
      await fn(this);
      if (this.#state === "working") {
        await this.finish(() => {});
      }
    } catch (error) {
      if (!(error instanceof FinalError) || this.#state !== "working") {
        throw error;
      }
      await this.finish(() => failed(error.message));
    } finally {
      if (this.#state === "working") {
        await this.free();
      }
      clearTimeout(this.#leaseTimer);
    }
  }

  /** @internal unfinished reports whether the work has given its key up, so that the next request starts it again. */
  get unfinished(): boolean {
    return this.#is("working");
  }

  /** @internal end aborts the work. */
  end(reason: KitError): void {
    this.#controller.abort(reason);
  }

  /** @internal free gives the key up. If that fails the lease ends by itself. */
  async free(): Promise<void> {
    const { store } = this.runner;
    await this.runner.exchange("give the key up", (signal) => store.abandon(this.claim, signal)).catch(() => {});
    clearTimeout(this.#leaseTimer);
  }

  get #leaseMs(): number {
    return this.claim.leaseMs!;
  }

  #check(): void {
    if (this.#state !== "working") {
      throw leaseLost();
    }
  }

  async #exclusive(fn: () => Promise<void>): Promise<void> {
    const exchange = fn();
    this.#busy = exchange;
    try {
      await exchange;
    } finally {
      this.#busy = undefined;
    }
  }

  #leaseUntil(end: number): void {
    clearTimeout(this.#leaseTimer);
    this.#leaseTimer = setTimeout(() => this.#controller.abort(leaseLost()), Math.max(0, end - performance.now()));
    this.#leaseTimer.unref();
  }

  async #renew(leaseMs: number, progress: Uint8Array | undefined): Promise<void> {
    const asked = performance.now();
    const held = await this.runner.exchange("renew the lease", (signal) =>
      this.runner.store.renew({ ...this.claim, leaseMs }, progress, signal),
    );
    if (!held) {
      return this.#lose();
    }
    this.#renewed = asked;
    this.#last = progress;
    this.#leaseUntil(asked + leaseMs);
  }

  /** #lose ends the work of a worker without its key, unless it has finished: the answer to its commit was lost. */
  async #lose(): Promise<void> {
    const { record } = await this.runner.lookup(this.claim);
    if (record?.owner === this.claim.owner && (record.state === "done" || record.state === "omitted")) {
      this.#state = "finished";
      return;
    }
    this.#state = "lost";
    this.#controller.abort(leaseLost());
    throw leaseLost();
  }

  async #finish(fn: (tx: Tx, signal: AbortSignal) => Response | void | Promise<Response | void>): Promise<void> {
    this.#check();
    const { maxRunMs } = this.claim;
    await this.#renew(Math.max(this.#leaseMs, maxRunMs + 3 * this.runner.options.storeTimeoutMs), this.#last);
    if (this.#is("finished")) {
      return;
    }
    const open = await this.#resume();
    if (open === undefined) {
      return this.#lose();
    }
    try {
      const work: WorkInTx<Tx> = async (tx, signal) => {
        const response = (await fn(tx, signal)) ?? new Response(null, { status: 204 });
        return { reply: await this.#final(response), then: "commit" };
      };
      const result = await this.runner.run(open, this.claim, work, (reply) => this.#record(reply));
      if (result.replayed) {
        return await this.#lose();
      }
      this.#state = "finished";
    } catch (error) {
      throw error instanceof LostRace ? leaseLost() : error;
    }
  }

  #is(state: "working" | "finished" | "lost"): boolean {
    return this.#state === state;
  }

  #resume(): Promise<OpenTx<Tx> | undefined> {
    return this.runner.exchange("resume the work", (signal) => this.runner.store.resume(this.claim, signal));
  }

  /** #final is the reply as it is stored. One that is too large fails the work: no caller would ever get it. */
  async #final(response: Response): Promise<Reply> {
    if (response.status < 200 || response.status > 599 || response.status === 202) {
      throw new TypeError(`the reply of long work has the status ${response.status}; use one from 200 to 599, not 202`);
    }
    const { maxStoredBody } = this.runner.options;
    const body = new Uint8Array(await response.arrayBuffer());
    if (body.length > maxStoredBody) {
      throw replyTooLarge(
        `the reply has ${body.length} bytes, more than maxStoredBody (${maxStoredBody}); return less`,
      );
    }
    return this.storable({ status: response.status, headers: [...response.headers], body });
  }

  /** #record stores the reply of work that ended its transaction itself. If another worker has the key by now, it is that worker's. */
  async #record(reply: Reply): Promise<void> {
    this.#state = "finished";
    const open = await this.#resume();
    await this.runner.exchange("store the reply", async (signal) => open?.commit(this.claim, reply, signal));
  }
}
