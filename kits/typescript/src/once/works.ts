// The long work of one process: how it starts, and how the process ends it.

import { shuttingDown, KitError } from "../errors.js";
import { checkKey } from "../key.js";
import type { HttpReply, Reply } from "../reply.js";
import type { OnceRunner } from "./once.js";
import { decideLong, type Claim, type KeyStatus, type Decision } from "../store.js";
import { Work, type WorkRequest } from "./work.js";

/** Works are the pieces of long work that run in this process. */
export class Works<Tx> {
  readonly #running = new Set<Work<Tx>>();
  #starting = 0; // requests that take a key for work
  #closed = false;
  #idle: (() => void) | undefined;

  constructor(
    readonly runner: OnceRunner<Tx>,
    readonly storable: (full: HttpReply) => Reply,
  ) {}

  /** start takes the key for long work. Unless there is work, the decision and the status say what the key is. */
  async start(claim: Claim, request: WorkRequest): Promise<{ decision: Decision; status: KeyStatus; work?: Work<Tx> }> {
    checkKey(claim.key);
    const status = await this.runner.lookup(claim);
    if (status.record !== undefined && decideLong(status, claim) !== "doWork") {
      return { decision: decideLong(status, claim), status };
    }
    if (this.#closed) {
      throw shuttingDown();
    }
    this.#starting++;
    try {
      return await this.#accept(claim, request);
    } finally {
      this.#starting--;
      this.#tellIdle();
    }
  }

  /** #accept takes the key. The work counts as running from then on. */
  async #accept(claim: Claim, request: WorkRequest): ReturnType<Works<Tx>["start"]> {
    let status: KeyStatus;
    const asked = performance.now(); // before the store counts from it
    const make = (previous?: Uint8Array) => new Work(this.runner, claim, request, previous, asked, this.storable);
    try {
      status = await this.runner.exchange("accept the work", (signal) => this.runner.store.accept(claim, signal));
    } catch (error) {
      await make().free(); // the answer may be lost, and the key ours
      throw error;
    }
    if (!status.held) {
      const decision = decideLong(status, claim);
      return { decision: decision === "doWork" ? "inFlight" : decision, status }; // it was free only for a moment
    }
    const previous = status.record?.reply.body;
    const work = make(previous?.length ? previous : undefined);
    if (this.#closed) {
      await work.free();
      throw shuttingDown();
    }
    this.#running.add(work);
    return { decision: "doWork", status, work };
  }

  /** run runs what start returned, after its request was answered. */
  run(work: Work<Tx>, fn: (work: Work<Tx>) => unknown, failed: (message: string) => Response): void {
    work
      .run(fn, failed)
      .catch((error: unknown) => {
        const { logError } = this.runner.options;
        logError("long work failed", { ...work.key, restartsOnNextRequest: work.unfinished, error });
      })
      .finally(() => {
        this.#running.delete(work);
        this.#tellIdle();
      });
  }

  async shutdown(graceMs: number): Promise<void> {
    this.#closed = true;
    if (await this.#idleWithin(graceMs)) {
      return;
    }
    const ended = this.#running.size;
    for (const work of this.#running) {
      work.end(shuttingDown());
    }
    const idle = await this.#idleWithin(this.runner.options.storeTimeoutMs);
    throw new KitError(
      "service_shutting_down",
      idle
        ? `the service is shutting down: ${ended} pieces of long work were ended and given up`
        : "the service is shutting down: long work went on although its signal had aborted; its key is free when its lease ends",
    );
  }

  get #isIdle(): boolean {
    return this.#running.size + this.#starting === 0;
  }

  #tellIdle(): void {
    if (this.#isIdle) {
      this.#idle?.();
    }
  }

  async #idleWithin(ms: number): Promise<boolean> {
    if (this.#isIdle) {
      return true;
    }
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
    await Promise.race([new Promise<void>((resolve) => (this.#idle = resolve)), over]);
    clearTimeout(timer);
    return this.#isIdle;
  }
}
