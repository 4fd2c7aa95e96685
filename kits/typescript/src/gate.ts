// One call for each key goes to the database to claim it; the others of this
// process wait here, in memory. A crowd of duplicates then holds one connection,
// not the pool.

import type { KeyRecord } from "./store.js";

/** What a call does next at the gate. */
export type Turn =
  | { do: "leader"; flight: Flight } // try to take the key, then leave
  | { do: "lookup"; flight: Flight } // look the key up for all who waited, then share
  | { do: "shared"; found: KeyRecord | undefined } // another caller looked
  | { do: "timedOut" }; // the time to wait is over

type Waiter = (turn: Turn) => void;

/** Flight is one key's leader and those who wait for it. */
export interface Flight {
  readonly key: string;
  due: number; // by when its leader leaves; nobody joins an overdue flight
  known: boolean; // the key's fate
  waiters: Waiter[];
}

/** Gate lets one call for each key through at a time. */
export class Gate {
  readonly #flights = new Map<string, Flight>();

  /** size is how many keys are in flight. */
  get size(): number {
    return this.#flights.size;
  }

  /** enter waits, until the time `until`, while another call leads. A caller that leads is to leave by `due`. */
  async enter(key: string, until: number, due: number): Promise<Turn> {
    const flight = this.#flights.get(key);
    if (flight === undefined || Date.now() > flight.due) {
      const own: Flight = { key, due, known: false, waiters: [] };
      this.#flights.set(key, own);
      return { do: "leader", flight: own };
    }
    return new Promise((resolve) => {
      const waiter: Waiter = (turn) => {
        clearTimeout(timer);
        if (turn.do === "leader") {
          flight.due = due;
        }
        resolve(turn);
      };
      const timer = setTimeout(
        () => {
          flight.waiters = flight.waiters.filter((w) => w !== waiter);
          resolve({ do: "timedOut" });
        },
        Math.max(0, until - Date.now()),
      );
      flight.waiters.push(waiter);
    });
  }

  /** leave ends a lead. If the key's fate is known one of those who wait looks; else one of them leads next. */
  leave(flight: Flight, known: boolean): void {
    flight.known = known;
    if (known) {
      this.#remove(flight);
    }
    this.#pass(flight);
  }

  /** share ends a look. If it came to nothing another of those who wait looks. */
  share(flight: Flight, look: { found: KeyRecord | undefined } | undefined): void {
    if (look === undefined) {
      this.#pass(flight);
      return;
    }
    for (const waiter of flight.waiters.splice(0)) {
      waiter({ do: "shared", found: look.found });
    }
  }

  #pass(flight: Flight): void {
    const next = flight.waiters.shift();
    if (next !== undefined) {
      next({ do: flight.known ? "lookup" : "leader", flight });
    } else if (!flight.known) {
      this.#remove(flight);
    }
  }

  #remove(flight: Flight): void {
    if (this.#flights.get(flight.key) === flight) {
      this.#flights.delete(flight.key);
    }
  }
}
