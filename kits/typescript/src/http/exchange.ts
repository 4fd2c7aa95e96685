// Routes, requests and answers as the adapters of the HTTP frameworks see them.

import { KitError } from "../errors.js";
import type { Disposition } from "../reply.js";
import type { Verifier } from "../verify/verifier.js";

/** Route is how one route uses its keys. */
export interface Route {
  /** The namespace of the route's keys, such as `admin:close-day`. It must not change while keys live. */
  readonly scope: string;
  /** Overrides the kit's TTL for the scope. */
  readonly ttlMs?: number;
  /** Overrides the kit's. */
  readonly maxRunMs?: number;
  /** Overrides the kit's. */
  readonly policy?: (status: number) => Disposition;
}

/** LongRoute is how a route with long work uses its keys. */
export interface LongRoute extends Omit<Route, "policy"> {
  /** Overrides the kit's. */
  readonly leaseMs?: number;
  /** The Retry-After of a 202; default 10 s. */
  readonly pollMs?: number;
}

/** Exchange is a request as an adapter sees it. */
export interface Exchange {
  readonly method: string;
  /** The Host header. */
  readonly host: string;
  /** Path and query as the client sent them. */
  readonly target: string;
  /** Each value of a header, not joined where the framework can tell them apart. */
  header(name: string): readonly string[];
  /** Who makes the request (undefined or "" when it does not prove that), or what finds that out from its signature. */
  readonly principal: (() => Promise<string | undefined>) | Verifier;
  /** The body, in full. It throws a {@link KitError} `request_too_large` past the limit. */
  body(limit: number): Promise<Uint8Array>;
}

/** Ready is a whole answer that the handler did not make: a stored reply, or an error of the kit. */
export interface Ready {
  readonly kind: "ready";
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
}

/** Answer is what is sent for a call. A fresh one is the handler's own reply, with these headers added. */
export type Answer = Ready | { readonly kind: "fresh"; readonly headers: readonly (readonly [string, string])[] };

/**
 * PrincipalOption says who makes a request: an account or client ID that the
 * request's authentication has proved, never a token, which changes. undefined or ""
 * is answered 401. Callers that sign their calls are known by a {@link Verifier}.
 */
export type PrincipalOption<R> = ((request: R) => string | undefined | Promise<string | undefined>) | Verifier;

/** principalOf is the option for one request. */
export function principalOf<R>(option: PrincipalOption<R>, request: R): Exchange["principal"] {
  return typeof option === "function" ? async () => option(request) : option;
}

/** singlePrincipal puts all callers' keys under one name: for services with a single caller. */
export const singlePrincipal = (name: string) => () => name;

const SAFE = new Set(["GET", "HEAD", "OPTIONS", "TRACE"]);

/** isSafe reports whether a method needs no key. */
export const isSafe = (method: string) => SAFE.has(method.toUpperCase());

/** noTransaction stands for the transaction of a method that needs no key: using it throws. */
export function noTransaction<Tx>(method: string): Tx {
  const refuse = () => {
    throw new Error(`a ${method} request has no idempotency key and no transaction: read through the pool`);
  };
  return new Proxy({}, { get: refuse, set: refuse, has: refuse }) as Tx;
}

/** tooLarge is what {@link Exchange.body} throws. */
export const tooLarge = (limit: number) =>
  new KitError("request_too_large", `At most ${limit} bytes are accepted under an idempotency key.`);

const RFC3339 = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})([.,]\d+)?(Z|[+-]\d{2}:\d{2})$/;

/** parseSendBefore: an empty header is not an absent one, and of two nobody knows which is meant. */
export function parseSendBefore(values: readonly string[]): Date | undefined {
  if (values.length === 0) {
    return undefined;
  }
  const [, seconds, fraction, zone] = RFC3339.exec(values[0]!) ?? [];
  const at = new Date(`${seconds}${(fraction ?? "").replace(",", ".").slice(0, 4)}${zone}`);
  // JavaScript takes 30 February for 1 March.
  const exists = new Date(`${seconds}Z`).toJSON()?.slice(0, 19) === seconds;
  if (values.length > 1 || seconds === undefined || Number.isNaN(at.getTime()) || !exists) {
    throw new KitError(
      "invalid_idempotency_request",
      "Cronce-Send-Before must be one RFC 3339 time, such as 2026-11-21T03:00:00Z.",
    );
  }
  return at;
}

/** asKitError is the error that an adapter answers for a request that it cannot read. */
export function asKitError(error: unknown): KitError {
  if (error instanceof KitError) {
    return error;
  }
  return new KitError("invalid_idempotency_request", "The request body could not be read to its end.", {
    cause: error,
  });
}
