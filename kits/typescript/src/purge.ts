// Removing expired keys. It only frees space: an expired key can be claimed
// again before it is removed.

import * as timers from "node:timers/promises";
import { KitError } from "./errors.js";
import type { Kit } from "./kit.js";
import { problemOf } from "./problem.js";

/** PurgeOptions bound a purge. */
export interface PurgeOptions {
  /** Only this key scope; default all. */
  readonly scope?: string | undefined;
  /** Rows that one transaction removes at most; default 1000. */
  readonly batch?: number;
  /** The part of the time that is spent in batches; default 0.05, so that others are not slowed. */
  readonly share?: number;
  /** Bounds the time in milliseconds; default: until nothing is left. */
  readonly forMs?: number;
  /** Ends the purge between two batches. */
  readonly signal?: AbortSignal;
}

/** PurgeAnswer is what a purge removed. */
export interface PurgeAnswer {
  readonly deleted: number;
  readonly scopes: readonly { readonly scope: string; readonly deleted: number }[];
  /** False when the time was over before nothing was left. */
  readonly done: boolean;
  /** Nothing was deleted; the numbers are what would be. */
  readonly dryRun?: true;
}

const EXCHANGE_MS = 60_000;

/** purge removes expired keys in short transactions. What was removed stays removed if it fails. */
export async function purge<Tx>(kit: Kit<Tx>, options: PurgeOptions = {}): Promise<PurgeAnswer> {
  const { scope, batch = 1000, share = 0.05, forMs = Infinity, signal } = options;
  if (!(batch >= 1) || !(share > 0)) {
    throw new TypeError("purge: batch must be at least 1 and share above 0");
  }
  const counts = new Map<string, number>();
  const end = performance.now() + forMs;
  let after = new Date(0);
  let done = false;
  while (!done && !signal?.aborted) {
    const begin = performance.now();
    const purged = await kit.store.purgeBatch({ scope, limit: batch, after }, AbortSignal.timeout(EXCHANGE_MS));
    for (const [name, rows] of purged.scopes) {
      counts.set(name, (counts.get(name) ?? 0) + rows);
    }
    after = purged.last;
    done = purged.rows < batch;
    const took = performance.now() - begin;
    const pause = share >= 1 ? 0 : Math.min(5_000, took / share - took);
    if (!done && performance.now() + pause + took > end) {
      break;
    }
    if (!done && pause > 0) {
      await timers.setTimeout(pause, undefined, signal ? { signal } : {}).catch(() => {});
    }
  }
  return summary(counts, done);
}

function summary(counts: Map<string, number>, done: boolean): PurgeAnswer {
  const scopes = [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([scope, deleted]) => ({ scope, deleted }));
  return { deleted: scopes.reduce((sum, { deleted }) => sum + deleted, 0), scopes, done };
}

/**
 * purgeHandler is an admin endpoint that a nightly job calls: POST, with ?scope=S
 * and ?dryRun=true. Mount it behind what guards the service's other admin
 * endpoints. It needs no idempotency key.
 */
export function purgeHandler<Tx>(kit: Kit<Tx>, options: PurgeOptions = {}): (request: Request) => Promise<Response> {
  return async (request) => {
    if (request.method !== "POST") {
      const headers = { Allow: "POST" };
      return new Response("use POST: this removes expired idempotency keys\n", { status: 405, headers });
    }
    try {
      const { scope, dryRun } = parse(new URL(request.url).searchParams);
      if (!dryRun) {
        return Response.json(await purge(kit, { forMs: 20_000, ...options, scope: scope ?? options.scope }));
      }
      const counts = await kit.store.countExpired(scope, AbortSignal.timeout(EXCHANGE_MS));
      return Response.json({ ...summary(counts, true), dryRun: true });
    } catch (error) {
      if (!(error instanceof KitError)) {
        throw error;
      }
      const problem = problemOf(error, 409);
      const headers = { "Content-Type": "application/problem+json" };
      return new Response(JSON.stringify(problem), { status: problem.status, headers });
    }
  };
}

/** parse takes nothing that it does not know: a misspelt dry run would delete. */
function parse(query: URLSearchParams): { scope: string | undefined; dryRun: boolean } {
  let scope: string | undefined;
  let dryRun = false;
  const seen = new Set<string>();
  for (const [name, value] of query) {
    if (name === "scope" && value !== "" && !value.includes("*") && !seen.has(name)) {
      scope = value;
    } else if (name === "dryRun" && (value === "true" || value === "false") && !seen.has(name)) {
      dryRun = value === "true";
    } else {
      throw new KitError(
        "invalid_idempotency_request",
        "use ?scope=S, a whole key scope and no pattern, and ?dryRun=true or false, each once, and nothing else; nothing was removed",
      );
    }
    seen.add(name);
  }
  return { scope, dryRun };
}
