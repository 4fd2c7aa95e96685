// The loop of every entry point. For each key one caller of this process tries to take it,
// and the others wait for that caller. After a lost race each caller decides again.

import { randomBytes } from "node:crypto";
import * as timers from "node:timers/promises";
import { checkKey, type Key } from "../key.js";
import {
  inProgress,
  LostRace,
  mismatch,
  outcomeUnknown,
  hasCode,
  tooLate,
  transactionEnded,
  unavailable,
} from "../errors.js";
import { bounded } from "./bounded.js";
import { Gate, type KeyQueue } from "./gate.js";
import { ttlOf, type Complete } from "../options.js";
import type { Disposition, Reply } from "../reply.js";
import { decide, type Claim, type KeyStatus, type OpenTx, type Store, type Decision } from "../store.js";

/** OnceResult is the reply to a call. */
export interface OnceResult {
  readonly reply: Reply;
  /** The reply is a stored one. */
  readonly replayed: boolean;
}

/** Attempt tries to take a key. */
export interface Attempt {
  readonly status: KeyStatus;
  /** do is what follows if the key is the caller's. */
  do(): Promise<OnceResult>;
  /** drop ends the attempt otherwise. */
  drop(): Promise<void>;
}

/** WorkInTx runs inside a transaction. The signal aborts when maxRunMs is over. */
export type WorkInTx<Tx> = (tx: Tx, signal: AbortSignal) => Promise<{ reply: Reply; then: Disposition }>;

/** Recorder stores a reply in a transaction without work. */
type Recorder = (reply: Reply) => Promise<unknown>;

const FIRST_PAUSE_MS = 5;
const MAX_PAUSE_MS = 250;

/** OnceRunner does the work of each key once. */
export class OnceRunner<Tx> {
  readonly gate = new Gate();

  constructor(
    readonly store: Store<Tx>,
    readonly options: Complete,
  ) {}

  /** claim fills in what every claim of this kit has. */
  claim(key: Key, fingerprint: string, own: { ttlMs?: number | undefined; maxRunMs?: number | undefined }): Claim {
    const { ttlsMs, ttlMs, maxRunMs } = this.options;
    return {
      key,
      fingerprint,
      owner: randomBytes(18).toString("base64url"),
      ttlMs: own.ttlMs ?? ttlOf(key.scope, ttlsMs, ttlMs),
      maxRunMs: own.maxRunMs ?? maxRunMs,
    };
  }

  /** once does the work in a transaction unless the key says otherwise. */
  once(claim: Claim, work: WorkInTx<Tx>): Promise<OnceResult> {
    return this.claimOrWait(claim, async () => {
      const { open, status } = await this.exchange("begin", (signal) => this.store.begin(claim, signal));
      return {
        status,
        do: () => this.run(open, claim, work, (reply) => this.#record(claim, reply)),
        drop: () => this.#drop(open),
      };
    });
  }

  async claimOrWait(claim: Claim, attempt: () => Promise<Attempt>): Promise<OnceResult> {
    checkKey(claim.key);
    const { waitMs, storeTimeoutMs } = this.options;
    const until = performance.now() + waitMs;
    // A last try, the work, its end, and a look at what came of it.
    const due = until + claim.maxRunMs + 3 * storeTimeoutMs;
    const name = JSON.stringify([claim.key.scope, claim.key.principal, claim.key.value]);
    for (;;) {
      const turn = await this.gate.enter(name, until, due);
      let status: KeyStatus;
      switch (turn.do) {
        case "timedOut":
          // The other call may only be reading what is stored.
          status = await this.lookup(claim);
          if (status.record === undefined) {
            throw inProgress();
          }
          return answer(decide(status, claim), status);
        case "leader":
          return await this.#lead(turn.queue, until, claim, attempt);
        case "lookup":
          status = await this.#lookupForWaiters(turn.queue, claim);
          break;
        case "shared":
          status = turn.found === undefined ? {} : { record: turn.found };
      }
      const decision = decide(status, claim);
      if (decision === "replay" || decision === "mismatch") {
        return answer(decision, status);
      }
    }
  }

  /** exchange bounds one exchange with the store. */
  exchange<T>(doing: string, fn: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { storeTimeoutMs } = this.options;
    const signal = AbortSignal.timeout(storeTimeoutMs);
    return fn(signal).catch((error: unknown) => {
      throw signal.aborted ? unavailable(`${doing}: no answer within ${storeTimeoutMs} ms`, error) : error;
    });
  }

  async #lookupForWaiters(queue: KeyQueue, claim: Claim): Promise<KeyStatus> {
    let status: KeyStatus | undefined;
    try {
      status = await this.lookup(claim);
      return status;
    } finally {
      this.gate.share(queue, status && { found: status.record });
    }
  }

  lookup(claim: Claim): Promise<KeyStatus> {
    return this.exchange("look the key up", (signal) => this.store.lookup(claim, signal));
  }

  async #lead(queue: KeyQueue, until: number, claim: Claim, attempt: () => Promise<Attempt>): Promise<OnceResult> {
    let known = false;
    try {
      for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, MAX_PAUSE_MS)) {
        const a = await attempt();
        const decision = decide(a.status, claim);
        if (decision === "doWork") {
          const result = await a.do();
          known = result.reply.expiresAt !== undefined;
          return result;
        }
        await a.drop();
        if (decision !== "inFlight") {
          known = decision === "replay" || decision === "mismatch";
          return answer(decision, a.status);
        }
        const left = until - performance.now();
        if (left <= 0) {
          throw inProgress();
        }
        // A little less than the pause, so that pollers drift apart.
        await timers.setTimeout(Math.min(left, pause * (1 - Math.random() / 4)));
      }
    } finally {
      this.gate.leave(queue, known);
    }
  }

  /**
   * run does the work in the transaction and ends it. An error of the work is thrown on
   * after the rollback. If the work has ended the transaction itself, run uses the key up
   * with record.
   */
  async run(open: OpenTx<Tx>, claim: Claim, work: WorkInTx<Tx>, record: Recorder): Promise<OnceResult> {
    let done: { reply: Reply; then: Disposition };
    try {
      done = await bounded(claim.maxRunMs, (signal) => work(open.tx, signal));
    } catch (error) {
      await this.#rollback(open, claim, record, error);
      throw error;
    }
    if (done.then !== "commit") {
      await this.#rollback(open, claim, record);
      return done.then === "release" ? { reply: done.reply, replayed: false } : await this.#record(claim, done.reply);
    }
    try {
      const expiresAt = await this.exchange("store the reply and commit", (signal) =>
        open.commit(claim, done.reply, signal),
      );
      return { reply: { ...done.reply, expiresAt }, replayed: false };
    } catch (error) {
      if (hasCode(error, "transaction_ended_by_handler")) {
        await this.#useUp(claim, record);
        throw error;
      }
      return await this.#afterFailedCommit(claim, done.reply, error);
    }
  }

  /**
   * #rollback undoes the work, which failed with the cause. If the work has ended its transaction
   * itself, its effects may be committed, so that the key is used up.
   */
  async #rollback(open: OpenTx<Tx>, claim: Claim, record: Recorder, cause?: unknown): Promise<void> {
    try {
      await this.exchange("roll back", (signal) => open.rollback(signal));
    } catch (error) {
      if (hasCode(error, "transaction_ended_by_handler")) {
        await this.#useUp(claim, record);
        throw cause === undefined ? error : transactionEnded(cause);
      }
    }
  }

  /** #drop ends a transaction without work. */
  async #drop(open: OpenTx<Tx>): Promise<void> {
    await this.exchange("roll back", (signal) => open.rollback(signal)).catch(() => {});
  }

  /**
   * #useUp records that the outcome of the key's work is unknown. It tries again while
   * the store is unavailable: else the work could be done a second time.
   */
  async #useUp(claim: Claim, record: Recorder): Promise<void> {
    const until = performance.now() + this.options.storeTimeoutMs;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, MAX_PAUSE_MS)) {
      try {
        await record({ status: 500, headers: {}, body: new Uint8Array(), omitted: true });
        return;
      } catch (error) {
        if (!hasCode(error, "idempotency_store_unavailable") || performance.now() + pause > until) {
          this.options.logError("idempotency key not used up", { ...claim.key, error });
          return;
        }
      }
      await timers.setTimeout(pause);
    }
  }

  /** #record stores a reply whose work was rolled back. If another call has the key by now, that one's reply counts. */
  async #record(claim: Claim, reply: Reply): Promise<OnceResult> {
    const { open, status } = await this.exchange("begin", (signal) => this.store.begin(claim, signal));
    const decision = decide(status, claim);
    if (decision !== "doWork" && decision !== "tooLate") {
      await this.#drop(open);
      return answer(decision, status);
    }
    try {
      const expiresAt = await this.exchange("store the reply", (signal) => open.commit(claim, reply, signal));
      return { reply: { ...reply, expiresAt }, replayed: false };
    } catch (error) {
      if (hasCode(error, "transaction_ended_by_handler")) {
        throw error; // and not of the handler: it has no part in this transaction
      }
      return await this.#afterFailedCommit(claim, reply, error);
    }
  }

  /** #afterFailedCommit looks the key up: the answer to a commit may be lost, and its record then has the claim's owner. */
  async #afterFailedCommit(claim: Claim, reply: Reply, cause: unknown): Promise<OnceResult> {
    const status = await this.lookup(claim).catch(() => undefined);
    if (status?.record === undefined || status.record.state === "accepted") {
      throw cause instanceof LostRace ? inProgress() : cause;
    }
    const { record } = status;
    if (record.owner === claim.owner) {
      return {
        reply: { ...reply, ...(record.reply.expiresAt && { expiresAt: record.reply.expiresAt }) },
        replayed: false,
      };
    }
    return answer(decide(status, claim), status);
  }
}

/** answer is what a caller is told when no work is to be done. */
export function answer(decision: Decision, status: KeyStatus): OnceResult {
  switch (decision) {
    case "replay":
      return { reply: status.record!.reply, replayed: true };
    case "mismatch":
      throw mismatch();
    case "unknown":
      throw outcomeUnknown();
    case "tooLate":
      throw tooLate();
    default:
      throw inProgress();
  }
}
