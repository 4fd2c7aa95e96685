// The port to a database that keeps keys, and the one decision order of every entry point.

import type { Key } from "./key.js";
import type { Reply } from "./reply.js";

/** Where a stored key is in its life. A key whose work runs in a transaction has no committed row until it is done. */
export type State =
  | "done" // the reply is stored
  | "omitted" // the work is done; status and headers are stored, the body is not
  | "calling" // an external call holds the key under a lease
  | "unknown" // nobody knows what came of an external call
  | "accepted"; // long work holds the key under a lease, and the body is its progress

/** KeyRecord is a stored key. */
export interface KeyRecord {
  readonly state: State;
  readonly fingerprint: string;
  /** The token of the call that wrote it. */
  readonly owner: string;
  readonly reply: Reply;
}

/** Claim is what a call asks of a store. */
export interface Claim {
  readonly key: Key;
  readonly fingerprint: string;
  /** Random, fresh for each call. */
  readonly owner: string;
  /** From completion to expiry. */
  readonly ttlMs: number;
  /** When the caller may have stopped asking. */
  readonly sendBefore?: Date;
  /** Bounds the work. The store frees the key of a stopped process this long after its last statement. */
  readonly maxRunMs: number;
  /** How long long work holds the key; it begins with the store's answer. */
  readonly leaseMs?: number;
}

/** KeyStatus is what a store knows about a key at one moment of its own clock. */
export interface KeyStatus {
  /** The key's live record. A record expires at its `expiresAt`. */
  readonly record?: KeyRecord;
  /** The record is `calling` or `accepted`, and its lease has ended. */
  readonly leaseExpired?: boolean;
  /** The transaction at hand has the key to itself. */
  readonly held?: boolean;
  /** The store's clock is at or past the claim's `sendBefore`. */
  readonly tooLate?: boolean;
}

/** OpenTx is an open transaction of a store. One of its two endings is called, once. */
export interface OpenTx<Tx> {
  /** What the work writes through. It throws once the work is over. */
  readonly tx: Tx;
  /**
   * commit stores the reply and commits it together with the work. It throws
   * {@link LostRace}, or a KitError `transaction_ended_by_handler`,
   * `transaction_aborted` or `idempotency_store_unavailable`, after a rollback.
   */
  commit(claim: Claim, reply: Reply, signal: AbortSignal): Promise<Date>;
  /** rollback frees the key and undoes the work. It throws only `transaction_ended_by_handler`. */
  rollback(signal: AbortSignal): Promise<void>;
}

/** Purge asks for one batch. */
export interface PurgeBatch {
  /** Only this key scope; undefined for all. */
  readonly scope?: string | undefined;
  readonly limit: number;
  /** `last` of the batch before, so that no batch walks through what that removed. */
  readonly after: Date;
}

/** Purged is what one batch removed. */
export interface Purged {
  readonly scopes: Map<string, number>;
  readonly rows: number;
  readonly last: Date;
}

/**
 * Store is a database that keeps keys. Every failure that is not the caller's own
 * is a KitError `idempotency_store_unavailable`. A method gives up when its signal
 * aborts.
 */
export interface Store<Tx> {
  /** begin opens a transaction, tries to take the key in it and looks the key up, without waiting for its holder. */
  begin(claim: Claim, signal: AbortSignal): Promise<{ open: OpenTx<Tx>; status: KeyStatus }>;
  /** lookup sees what is committed, and takes nothing. */
  lookup(claim: Claim, signal: AbortSignal): Promise<KeyStatus>;
  /** reserve takes the key for the owner and commits that, for as long as the lease. */
  reserve(claim: Claim, leaseMs: number, takeOver: boolean, signal: AbortSignal): Promise<KeyStatus>;
  /** complete stores the reply of a reserved key; undefined when the owner no longer has it. */
  complete(claim: Claim, reply: Reply, signal: AbortSignal): Promise<Date | undefined>;
  /** markUnknown makes a reserved key unknown. */
  markUnknown(claim: Claim, signal: AbortSignal): Promise<boolean>;
  /** release removes a reserved key: nothing was done. */
  release(claim: Claim, signal: AbortSignal): Promise<boolean>;
  /**
   * accept takes a key that is free, or whose long work with the same payload has
   * lost its lease, for the owner and `leaseMs`, and commits that. It takes nothing
   * for a claim that is late. If `held`, the record is the key's, with the progress of
   * an earlier worker as its body; else it is what is in the way.
   */
  accept(claim: Claim, signal: AbortSignal): Promise<KeyStatus>;
  /** renew starts the lease anew and stores the progress; false, and nothing is changed, when the owner no longer has the key. */
  renew(claim: Claim, progress: Uint8Array | undefined, signal: AbortSignal): Promise<boolean>;
  /** abandon removes an accepted key. */
  abandon(claim: Claim, signal: AbortSignal): Promise<boolean>;
  /**
   * resume opens a transaction that has the accepted key to itself; undefined when
   * the owner no longer has it. Its rollback leaves the record as it was.
   */
  resume(claim: Claim, signal: AbortSignal): Promise<OpenTx<Tx> | undefined>;
  /** check throws an error that names what would fail calls, and says what to do. */
  check(signal: AbortSignal): Promise<void>;
  /** purgeBatch removes up to `limit` expired keys, oldest first, and leaves those that are locked. */
  purgeBatch(batch: PurgeBatch, signal: AbortSignal): Promise<Purged>;
  /** countExpired counts, by scope, what a purge would remove now. */
  countExpired(scope: string | undefined, signal: AbortSignal): Promise<Map<string, number>>;
}

/** What a call does after it has looked its key up. */
export type Decision = "doWork" | "replay" | "mismatch" | "inFlight" | "unknown" | "tooLate" | "accepted";

/**
 * decide is the one decision order, for every entry point. An expired record is no
 * record. A stored reply is given even to a call that comes too late: nothing is
 * done for it, and it learns the outcome.
 */
export function decide(status: KeyStatus, claim: Claim): Decision {
  const { record } = status;
  if (record !== undefined && record.fingerprint !== claim.fingerprint) {
    return "mismatch";
  }
  if (record?.state === "accepted" || (record?.state === "calling" && !status.leaseExpired)) {
    return "inFlight";
  }
  if (record?.state === "calling" || record?.state === "unknown") {
    return "unknown";
  }
  if (record !== undefined) {
    return "replay";
  }
  if (!status.held) {
    return "inFlight";
  }
  return status.tooLate ? "tooLate" : "doWork";
}

/** decideLong is the decision for long work, of a look-up that took nothing. Work whose lease has ended can be started again. */
export function decideLong(status: KeyStatus, claim: Claim): Decision {
  const { record } = status;
  if (record !== undefined && (record.fingerprint !== claim.fingerprint || record.state !== "accepted")) {
    return decide(status, claim);
  }
  if (record !== undefined && !status.leaseExpired) {
    return "accepted";
  }
  return status.tooLate ? "tooLate" : "doWork";
}
