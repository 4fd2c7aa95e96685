// What a kit can be told, with its defaults.

import type { Problem } from "./problem.js";
import { canonicalName, defaultPolicy, type Disposition } from "./reply.js";

/** Options configure a kit. Times are in milliseconds. */
export interface Options {
  /** How long a completed key is remembered; default 24 h. */
  readonly ttlMs?: number;
  /** Overrides `ttlMs` by key scope: an exact name, else the longest name that ends in * and matches. */
  readonly ttlsMs?: Readonly<Record<string, number>>;
  /** How long a call waits for another with its key; default 5 s, 0: not at all. */
  readonly waitMs?: number;
  /** Bounds the work, which outlives its caller's disconnect; default 5 min. */
  readonly maxRunMs?: number;
  /** How long long work keeps its key without a {@link Work.progress}; default 1 min. */
  readonly leaseMs?: number;
  /** Bounds each exchange with the database; default 10 s. */
  readonly storeTimeoutMs?: number;
  /** Largest body of a request, in bytes; default 1 MiB. */
  readonly maxRequestBody?: number;
  /** Largest body of a reply, in bytes, which is held in memory until the commit; default 16 MiB. */
  readonly maxReplyBody?: number;
  /** Largest body that is stored, in bytes; of a larger one only status and headers are. Default 1 MiB. */
  readonly maxStoredBody?: number;
  /** Decides what becomes of a handler's work, by its status. */
  readonly policy?: (status: number) => Disposition;
  /** Headers that are replayed besides the default ones. */
  readonly replayHeaders?: readonly string[];
  /** Answers a key that comes with another payload: 409 (default) or 422. */
  readonly mismatchStatus?: 409 | 422;
  /** Shapes the kit's own error answers; default application/problem+json (RFC 9457). */
  readonly renderProblem?: (problem: Problem) => RenderedProblem;
  /** Hears of failures that no caller is told of in full; default `console.error`. */
  readonly logError?: (message: string, attributes: Record<string, unknown>) => void;
}

/** RenderedProblem is an error answer as it is sent. */
export interface RenderedProblem {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type Complete = Required<Options>;

const MIB = 1 << 20;

/** complete applies the defaults and throws a TypeError for what cannot be. */
export function complete(options: Options): Complete {
  const o: Complete = {
    ttlMs: 24 * 60 * 60 * 1000,
    ttlsMs: {},
    waitMs: 5_000,
    maxRunMs: 5 * 60 * 1000,
    leaseMs: 60_000,
    storeTimeoutMs: 10_000,
    maxRequestBody: MIB,
    maxReplyBody: 16 * MIB,
    maxStoredBody: MIB,
    policy: defaultPolicy,
    replayHeaders: [],
    mismatchStatus: 409,
    renderProblem: (problem) => ({
      status: problem.status,
      headers: { "Content-Type": "application/problem+json" },
      body: JSON.stringify(problem),
    }),
    logError: (message, attributes) => console.error(message, attributes),
    ...(Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Options),
  };
  const positive = {
    ...o.ttlsMs,
    ttlMs: o.ttlMs,
    maxRunMs: o.maxRunMs,
    leaseMs: o.leaseMs,
    storeTimeoutMs: o.storeTimeoutMs,
  };
  for (const [name, value] of Object.entries(positive)) {
    if (!(value > 0 && value <= Number.MAX_SAFE_INTEGER)) {
      throw new TypeError(`idempotency: ${name} is ${value}; use a number of milliseconds above 0`);
    }
  }
  for (const name of ["waitMs", "maxRequestBody", "maxReplyBody", "maxStoredBody"] as const) {
    if (!(o[name] >= 0)) {
      throw new TypeError(`idempotency: ${name} is ${o[name]}; it must be at least 0`);
    }
  }
  // A timer of Node.js fires at once when it is set for longer than this.
  if (Math.max(o.leaseMs, o.maxRunMs + 3 * o.storeTimeoutMs + o.waitMs) > 2 ** 31 - 1) {
    throw new TypeError(
      "idempotency: waitMs, maxRunMs and storeTimeoutMs together, and leaseMs, must be below 24 days",
    );
  }
  if (o.mismatchStatus !== 409 && o.mismatchStatus !== 422) {
    throw new TypeError(`idempotency: mismatchStatus is ${String(o.mismatchStatus)}; use 409 or 422`);
  }
  for (const name of o.replayHeaders) {
    if (canonicalName(name) === "Set-Cookie") {
      throw new TypeError("idempotency: replayHeaders names Set-Cookie, which is never replayed; remove it");
    }
  }
  return o;
}

/** ttlOf finds a scope's TTL: its exact name, else the longest name ending in * whose beginning it has. */
export function ttlOf(scope: string, ttls: Readonly<Record<string, number>>, fallback: number): number {
  const exact = ttls[scope];
  if (exact !== undefined) {
    return exact;
  }
  let best = -1;
  let found = fallback;
  for (const [name, ttl] of Object.entries(ttls)) {
    const prefix = name.slice(0, -1);
    if (name.endsWith("*") && prefix.length > best && scope.startsWith(prefix)) {
      best = prefix.length;
      found = ttl;
    }
  }
  return found;
}
