// What every HTTP adapter does: read what names the call, run the handler once,
// and say what is sent.

import { KitError, replyTooLarge, type Code } from "../errors.js";
import {
  isSafe,
  parseSendBefore,
  type Answer,
  type Exchange,
  type LongRoute,
  type Ready,
  type Route,
} from "./exchange.js";
import { requestFingerprint } from "../fingerprint/fingerprint.js";
import { MAX_PRINCIPAL, parseKey } from "../key.js";
import type { Complete } from "../options.js";
import { problemOf, retryable } from "../problem.js";
import { accepts, replayable, sentHeaders, storedHeaders, ofHandler, type HttpReply, type Reply } from "../reply.js";
import { answer, type OnceRunner } from "../once/once.js";
import type { Claim } from "../store.js";
import type { Work } from "../once/work.js";
import { Works } from "../once/works.js";

/** Codes by which the kit refuses what the work answers. */
const OF_REPLIES = new Set<Code>(["reply_too_large", "response_bypassed"]);

/** HttpHandlers runs handlers of HTTP routes once for each key. */
export class HttpHandlers<Tx> {
  readonly #replayable: Set<string>;
  readonly works: Works<Tx>;

  constructor(readonly runner: OnceRunner<Tx>) {
    this.#replayable = replayable(runner.options.replayHeaders);
    this.works = new Works(runner, (full) => this.#stored(full, runner.options.maxStoredBody));
  }

  get options(): Complete {
    return this.runner.options;
  }

  /**
   * handle runs the work in a transaction unless the key says otherwise. Errors of
   * the work are thrown on, after the rollback; the kit's own become answers.
   */
  async handle(
    exchange: Exchange,
    route: Route,
    work: (tx: Tx, body: Uint8Array, signal: AbortSignal) => Promise<HttpReply>,
  ): Promise<Answer> {
    const { maxReplyBody, maxStoredBody, policy } = this.options;
    let claim: Claim | undefined;
    let failure: { error: unknown } | undefined; // of the work
    try {
      const named = await this.#claim(exchange, route);
      claim = named.claim;
      const { reply, replayed } = await this.runner.once(claim, async (tx, signal) => {
        let full: HttpReply;
        try {
          full = await work(tx, named.body, signal);
        } catch (error) {
          failure = { error };
          throw error;
        }
        if (full.body.length > maxReplyBody) {
          throw replyTooLarge(`the reply has ${full.body.length} bytes, more than maxReplyBody (${maxReplyBody})`);
        }
        return { reply: this.#stored(full, maxStoredBody), then: (route.policy ?? policy)(full.status) };
      });
      return replayed ? replay(reply, exchange) : { kind: "fresh", headers: expiry(reply) };
    } catch (error) {
      const own = error instanceof KitError && (failure?.error !== error || OF_REPLIES.has(error.code));
      if (!own) {
        throw error;
      }
      return this.refuse(error, claim);
    }
  }

  /**
   * refusal refuses a request without a key that is not signed, where callers are known
   * by their signature; undefined: the handler may answer it.
   */
  async refusal({ principal, header, body }: Exchange): Promise<Ready | undefined> {
    if (typeof principal === "function") {
      return undefined;
    }
    try {
      await principal.verify({ header, body: await body(this.options.maxRequestBody) });
      return undefined;
    } catch (error) {
      if (!(error instanceof KitError)) {
        throw error;
      }
      return this.refuse(error);
    }
  }

  /**
   * accept answers 202 and runs the work afterwards, unless the key says otherwise:
   * 202 while it goes on, and its reply when it is done.
   */
  async accept(exchange: Exchange, route: LongRoute, fn: (work: Work<Tx>) => unknown): Promise<Ready> {
    if (isSafe(exchange.method)) {
      const body = "Send this request with a method that changes something, and an Idempotency-Key.";
      return { kind: "ready", status: 405, headers: [["Allow", "POST, PUT, PATCH, DELETE"]], body: Buffer.from(body) };
    }
    let claim: Claim | undefined;
    try {
      const named = await this.#claim(exchange, route);
      claim = { ...named.claim, leaseMs: route.leaseMs ?? this.options.leaseMs };
      const { method, target } = exchange;
      const { decision, status, work } = await this.works.start(claim, {
        method,
        target,
        header: (name) => exchange.header(name),
        body: named.body,
        json: <T>() => JSON.parse(Buffer.from(named.body).toString()) as T,
      });
      if (work !== undefined) {
        this.works.run(work, fn, failed);
      } else if (decision !== "accepted") {
        return replay(answer(decision, status).reply, exchange);
      }
      return underWay(status.record?.reply.body, route.pollMs ?? 10_000);
    } catch (error) {
      if (!(error instanceof KitError)) {
        throw error;
      }
      return this.refuse(error, claim);
    }
  }

  #stored(full: HttpReply, limit: number): Reply {
    const omitted = full.body.length > limit;
    return {
      status: full.status,
      headers: storedHeaders(ofHandler(full.headers), this.#replayable),
      body: omitted ? new Uint8Array() : full.body,
      omitted,
    };
  }

  /** refuse answers with an error of the kit. */
  refuse(error: KitError, claim?: Claim): Ready {
    const { mismatchStatus, renderProblem, logError } = this.options;
    const problem = problemOf(error, mismatchStatus);
    if (problem.status >= 500) {
      logError("idempotent request failed", { code: problem.code, ...claim?.key, error });
    }
    const rendered = renderProblem(problem);
    const headers = Object.entries(rendered.headers);
    if (retryable(problem)) {
      headers.push(["Retry-After", problem.code === "verification_keys_unavailable" ? "5" : "1"]);
    }
    if (problem.code === "signature_refused") {
      headers.push(["WWW-Authenticate", 'Bearer error="invalid_token"']);
    }
    return { kind: "ready", status: rendered.status, headers, body: Buffer.from(rendered.body) };
  }

  async #claim(exchange: Exchange, route: Omit<Route, "policy">): Promise<{ claim: Claim; body: Uint8Array }> {
    const { maxRequestBody } = this.options;
    let body: Uint8Array | undefined;
    let principal: string | undefined;
    if (typeof exchange.principal !== "function") {
      body = await exchange.body(maxRequestBody);
      principal = await exchange.principal.verify({ header: (name) => exchange.header(name), body });
    }
    const keys = exchange.header("idempotency-key");
    if (keys.length === 0) {
      throw new KitError("missing_idempotency_key", "the request has no Idempotency-Key header");
    }
    const value = parseKey(keys[0]!);
    if (keys.length > 1) {
      throw new KitError("invalid_idempotency_key", "invalid idempotency key: more than one Idempotency-Key header");
    }
    if (typeof exchange.principal === "function") {
      principal = await exchange.principal();
    }
    principal ??= "";
    if (principal === "" || Buffer.byteLength(principal) > MAX_PRINCIPAL) {
      throw new KitError("unidentified_caller", "the principal is empty or longer than 255 bytes");
    }
    const sendBefore = parseSendBefore(exchange.header("cronce-send-before"));
    body ??= await exchange.body(maxRequestBody);
    const fingerprint = requestFingerprint(
      {
        method: exchange.method,
        host: exchange.host,
        target: exchange.target,
        contentType: exchange.header("content-type")[0] ?? "",
      },
      body,
    );
    const claim = this.runner.claim({ scope: route.scope, principal, value }, fingerprint, route);
    return { claim: { ...claim, ...(sendBefore && { sendBefore }) }, body };
  }
}

/** failed is the stored reply of long work that has failed for good. */
function failed(detail: string): Response {
  const problem = { type: "about:blank", title: "The operation failed", status: 422, detail, code: "operation_failed" };
  return Response.json(problem, { status: 422, headers: { "Content-Type": "application/problem+json" } });
}

/** underWay tells that the work goes on, and how far it is. */
function underWay(progress: Uint8Array | undefined, pollMs: number): Ready {
  let text = Buffer.from(progress ?? []).toString();
  try {
    JSON.parse(text);
  } catch {
    text = "null";
  }
  const headers = [
    ["Retry-After", String(Math.ceil(pollMs / 1000))],
    ["Content-Type", "application/json"],
  ] as const;
  return { kind: "ready", status: 202, headers, body: Buffer.from(`{"progress":${text}}`) };
}

function expiry(reply: Reply): [string, string][] {
  return reply.expiresAt ? [["Idempotency-Key-Expires", reply.expiresAt.toISOString()]] : [];
}

/** replay gives a stored reply, byte for byte. */
function replay(reply: Reply, exchange: Exchange): Ready {
  const headers: [string, string][] = [...sentHeaders(reply.headers)];
  const own: [string, string][] = [["Idempotent-Replayed", "true"], ...expiry(reply)];
  const encoding = headers.find(([name]) => name.toLowerCase() === "content-encoding")?.[1];
  const acceptEncoding = exchange.header("accept-encoding");
  const readable =
    encoding === undefined ||
    encoding.toLowerCase() === "identity" ||
    accepts(acceptEncoding.length === 0 ? undefined : acceptEncoding.join(","), encoding);
  if (reply.omitted || !readable) {
    const bare = headers.filter(([name]) => !/^content-(encoding|type)$/i.test(name));
    return {
      kind: "ready",
      status: reply.status,
      headers: [...bare, ...own, ["Idempotency-Body", "omitted"]],
      body: new Uint8Array(),
    };
  }
  return { kind: "ready", status: reply.status, headers: [...headers, ...own], body: reply.body };
}
