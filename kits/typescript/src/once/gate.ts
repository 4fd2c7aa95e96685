// One call for each key goes to the database to claim it; the others of this
// process wait here, in memory. A crowd of duplicates then holds one connection,
// not the pool.

import type { KeyRecord } from "../store.js";

/** What a call does next at the gate. */
export type Turn =
  | { do: "leader"; queue: KeyQueue } // try to take the key, then leave
  | { do: "lookup"; queue: KeyQueue } // look the key up for all who waited, then share
  | { do: "shared"; found: KeyRecord | undefined } // another caller looked
  | { do: "timedOut" }; // the time to wait is over

type Waiter = (turn: Turn) => void;

/** KeyQueue is one key's leader and those who wait for it. */
export interface KeyQueue {
  readonly key: string;
  due: number; // by when its leader leaves; nobody joins an overdue queue
  known: boolean; // the key's outcome
  waiters: Waiter[];
}

/** Gate lets one call for each key through at a time. */
export class Gate {
  readonly #queues = new Map<string, KeyQueue>();

  /** size is how many keys are in flight. */
  get size(): number {
    return this.#queues.size;
  }

  /** enter waits, until the time `until`, while another call leads. A caller that leads is to leave by `due`. */
  async enter(key: string, until: number, due: number): Promise<Turn> {
    const queue = this.#queues.get(key);
    if (queue === undefined || performance.now() > queue.due) {
      const own: KeyQueue = { key, due, known: false, waiters: [] };
      this.#queues.set(key, own);
      return { do: "leader", queue: own };
    }
    return new Promise((resolve) => {
      const waiter: Waiter = (turn) => {
        clearTimeout(timer);
        if (turn.do === "leader") {
          queue.due = due;
        }
        resolve(turn);
      };
      const timer = setTimeout(
        () => {
          queue.waiters = queue.waiters.filter((w) => w !== waiter);
          resolve({ do: "timedOut" });
        },
        Math.max(0, until - performance.now()),
      );
      queue.waiters.push(waiter);
    });
  }

  /** leave ends a lead. The next waiting caller looks the key up if its outcome is known, and leads otherwise. */
  leave(queue: KeyQueue, known: boolean): void {
    queue.known = known;
    if (known) {
      this.#remove(queue);
    }
    this.#pass(queue);
  }

  /** share ends a look-up and hands its result to the waiting callers. If it failed, the next of them looks the key up. */
  share(queue: KeyQueue, result: { found: KeyRecord | undefined } | undefined): void {
    if (result === undefined) {
      this.#pass(queue);
      return;
    }
    for (const waiter of queue.waiters.splice(0)) {
      waiter({ do: "shared", found: result.found });
    }
  }

  #pass(queue: KeyQueue): void {
    const next = queue.waiters.shift();
    if (next !== undefined) {
      next({ do: queue.known ? "lookup" : "leader", queue });
    } else if (!queue.known) {
      this.#remove(queue);
    }
  }

  #remove(queue: KeyQueue): void {
    if (this.#queues.get(queue.key) === queue) {
      this.#queues.delete(queue.key);
    }
  }
}
