// What the engines make of claims and replies for their statements, and of rows.

import { LostRace } from "../errors.js";
import type { Reply, StoredHeaders } from "../reply.js";
import type { Claim, KeyStatus, PurgeBatch, Purged, State } from "../store.js";

/** lease is how long an accepted row is held, and how long it lives. */
export const lease = ({ leaseMs = 0, ttlMs }: Claim): [number, number] => [
  Math.ceil(leaseMs),
  Math.ceil(leaseMs + ttlMs),
];

/** claimant is the owner of a row whose transaction is open. */
export const claimant = (claim: Claim) => `claim:${claim.owner}`;

/** columns are a reply's, but for its body: state, status, headers. */
export const columns = (reply: Reply): [string, number | null, string | null] => [
  reply.omitted ? "omitted" : "done",
  reply.status || null,
  Object.keys(reply.headers).length > 0 ? JSON.stringify(reply.headers) : null,
];

/** statusOf reads the columns of a look-up; body and true are the driver's. */
export function statusOf<T>(
  row: readonly T[],
  bodyOf: (value: T) => Buffer,
  isTrue: (value: T | undefined) => boolean,
): KeyStatus {
  const [state, fingerprint, owner, status, headers, body, expires, expired, leaseExpired, late] = row;
  const free: KeyStatus = { tooLate: isTrue(late) };
  if (state === null || state === undefined || isTrue(expired)) {
    return free;
  }
  const text = String(state) as State;
  const reply = {
    status: Number(status ?? 0),
    headers: headers ? (JSON.parse(String(headers)) as StoredHeaders) : {},
    body: body === null || body === undefined ? Buffer.alloc(0) : bodyOf(body),
    omitted: text === "omitted",
    ...(expires !== null && expires !== undefined && { expiresAt: new Date(Number(expires)) }),
  };
  const record = { state: text, fingerprint: String(fingerprint), owner: String(owner), reply };
  return { ...free, record, leaseExpired: isTrue(leaseExpired) };
}

/** purgedOf counts the scopes and the expiries of rows that a purge removes. */
export function purgedOf(batch: PurgeBatch, rows: readonly (readonly [unknown, unknown])[]): Purged {
  const scopes = new Map<string, number>();
  let last = batch.after.getTime();
  for (const [scope, expires] of rows) {
    scopes.set(String(scope), (scopes.get(String(scope)) ?? 0) + 1);
    last = Math.max(last, Number(expires));
  }
  return { scopes, rows: rows.length, last: new Date(last) };
}

export const lostRace = (cause?: unknown) =>
  new LostRace("another call completed this idempotency key first", { cause });
