// Calls to vendors: effects that no transaction can take back.

import { createHash } from "node:crypto";
import { inspect } from "node:util";
import { hasCode, KitError, NotDone, outcomeUnknown, tooLate, unavailable } from "../errors.js";
import type { Key } from "../key.js";
import type { Reply } from "../reply.js";
import { bounded } from "./bounded.js";
import type { Attempt, OnceResult, OnceRunner } from "./once.js";
import { decide, type Claim, type KeyStatus } from "../store.js";

/** VendorCall is what a call to a vendor is made with. */
export interface VendorCall {
  /** The key for the vendor: the same whenever the operation is asked for, and in its reconciliation. */
  readonly vendorKey: string;
  /** Aborts when maxRunMs is over, before the lease on the key is. */
  readonly signal: AbortSignal;
}

/** Effect is a call to the world outside. */
export interface Effect<T> {
  /**
   * do makes the call, once. An error means that the outcome is unknown, unless it
   * is a {@link NotDone}.
   */
  do(call: VendorCall): Promise<T>;
  /**
   * reconcile finds out what came of a call that was lost. `done: false` means that
   * it certainly was not made and never will be: then it is made. Without a
   * reconcile a lost call stays unknown until somebody completes its row.
   */
  reconcile?(call: VendorCall): Promise<{ done: true; result: T } | { done: false }>;
}

/** vendorKey is the key under which an operation presents itself to a vendor. */
export function vendorKey(key: Key): string {
  const part = (text: string) => `${Buffer.byteLength(text)}:${text}`;
  return createHash("sha256")
    .update(part(key.scope) + part(key.principal) + key.value)
    .digest("hex")
    .slice(0, 32);
}

/** @internal Caller makes one operation's call. */
export class Caller<T> {
  #began = { monotonic: 0, wall: 0 }; // before the key was reserved, so that maxRunMs is over before the lease is

  constructor(
    readonly runner: OnceRunner<unknown>,
    readonly claim: Claim,
    readonly effect: Effect<T>,
    readonly encode: (result: T) => Reply,
  ) {}

  call(): Promise<OnceResult> {
    return this.runner.claimOrWait(this.claim, () => {
      this.#began = { monotonic: performance.now(), wall: Date.now() };
      return this.#attempt();
    });
  }

  async #attempt(): Promise<Attempt> {
    let status: KeyStatus;
    try {
      status = await this.#reserve(false);
    } catch (error) {
      // Perhaps the key is reserved and the answer was lost. No call was made, and
      // without this it would be taken for one when the lease has lapsed.
      await this.#giveUp("release");
      throw error;
    }
    if (this.effect.reconcile === undefined || decide(status, this.claim) !== "unknown") {
      return {
        status,
        do: () => this.#run(async (call) => ({ result: await this.#make(call), replayed: false })),
        drop: async () => {
          if (status.held) {
            await this.#giveUp("release");
          }
        },
      };
    }
    const late = status.tooLate;
    try {
      status = await this.#reserve(true);
    } catch (error) {
      await this.#giveUp("markUnknown");
      throw error;
    }
    return {
      status: { held: status.held ?? false },
      do: () => this.#run((call) => this.#reconcile(call, late ?? false)),
      drop: async () => {},
    };
  }

  #reserve(takeOver: boolean): Promise<KeyStatus> {
    const lease = this.claim.maxRunMs + this.runner.options.storeTimeoutMs;
    return this.runner.exchange("reserve the key", (signal) =>
      this.runner.store.reserve(this.claim, lease, takeOver, signal),
    );
  }

  #make(call: VendorCall): Promise<T> {
    // The lease may have lapsed while the process was stopped: another process can
    // have reconciled the call.
    if (this.#left() <= 0) {
      throw new NotDone("the call was not made, because maxRunMs was over before it", {
        cause: unavailable("reserve the key in time", undefined),
      });
    }
    return this.effect.do(call);
  }

  /**
   * #left is the time until maxRunMs is over by either clock: the monotonic one stands
   * still while the machine is suspended, and the wall clock can be set back.
   */
  #left(): number {
    const { monotonic, wall } = this.#began;
    return this.claim.maxRunMs - Math.max(performance.now() - monotonic, Date.now() - wall);
  }

  async #reconcile(call: VendorCall, late: boolean): Promise<{ result: T; replayed: boolean }> {
    let found: { done: true; result: T } | { done: false };
    try {
      found = await this.effect.reconcile!(call);
    } catch (error) {
      // A NotDone in it is about this look-up, and the lost call may have been made all the same.
      throw new Error(`reconcile: ${error instanceof Error ? error.message : inspect(error)}`);
    }
    if (found.done) {
      return { result: found.result, replayed: true };
    }
    if (late) {
      throw new NotDone("the call was not made", { cause: tooLate() });
    }
    return { result: await this.#make(call), replayed: false };
  }

  /** #run works on a key that is reserved for us, and completes it. Whatever stops it leaves the outcome unknown. */
  async #run(fn: (call: VendorCall) => Promise<{ result: T; replayed: boolean }>): Promise<OnceResult> {
    let made: { result: T; replayed: boolean };
    try {
      const key = vendorKey(this.claim.key);
      made = await bounded(Math.max(1, this.#left()), (signal) => fn({ vendorKey: key, signal }));
    } catch (error) {
      if (error instanceof NotDone) {
        await this.#giveUp("release");
        throw error.cause instanceof KitError ? error.cause : error;
      }
      await this.#giveUp("markUnknown");
      throw outcomeUnknown(error);
    }
    try {
      const reply = this.encode(made.result);
      const expiresAt = await this.runner.exchange("store the result", (signal) =>
        this.runner.store.complete(this.claim, reply, signal),
      );
      if (expiresAt === undefined) {
        throw new Error("the lease lapsed and another call has the key");
      }
      return { reply: { ...reply, expiresAt }, replayed: made.replayed };
    } catch (error) {
      await this.#giveUp("markUnknown");
      throw outcomeUnknown(error);
    }
  }

  /** #giveUp ends the hold on the key. What cannot be written now the lapsing lease says later. */
  async #giveUp(how: "release" | "markUnknown"): Promise<void> {
    try {
      await this.runner.exchange("give the key up", (signal) => this.runner.store[how](this.claim, signal));
    } catch (error) {
      if (!hasCode(error, "idempotency_store_unavailable")) {
        throw error;
      }
      this.runner.options.logError("idempotency key not given up", { ...this.claim.key, error });
    }
  }
}
