// The adapter for route handlers of Next.js.

import { responseBypassed } from "../errors.js";
import { fetchWrapper, orThrown, type FetchOptions } from "../http/fetch.js";
import type { Route } from "../http/exchange.js";
import type { Kit } from "../kit.js";

export { singlePrincipal } from "../http/exchange.js";
export type { FetchOptions };

/**
 * nextIdempotency makes the wrapper `idempotent({ scope }, handler)` for route
 * handlers: `export const POST = idempotent({ scope: "orders" }, async (request, tx, context) => …)`.
 * redirect() and permanentRedirect() commit the work, notFound() rolls it back.
 */
export function nextIdempotency<Tx>(kit: Kit<Tx>, options: FetchOptions) {
  const wrap = fetchWrapper(kit, options, { answer, begin: keepCookies, renew });
  /** The request may be a `NextRequest`, as in handlers without the kit. */
  const next = <Context, R extends Request = Request>(
    route: Route,
    handler: (request: R, tx: Tx, context: Context) => Response | Promise<Response>,
  ) =>
    wrap<[Context]>(route, handler as (request: Request, tx: Tx, context: Context) => Response | Promise<Response>) as (
      request: R,
      context: Context,
    ) => Promise<Response>;
  return Object.assign(next, { accept: wrap.accept });
}

/** renew makes a request of the class of the given one, a NextRequest, with its URL in the terms of Next.js. */
function renew(request: Request, init: RequestInit): Request {
  const renewed = new (request.constructor as typeof Request)(request.url, init);
  const { nextUrl } = request as { nextUrl?: unknown };
  return nextUrl === undefined ? renewed : Object.defineProperty(renewed, "nextUrl", { value: nextUrl });
}

/** answer runs a handler, and answers what it throws to Next.js as Next.js would. */
async function answer(run: () => Response | Promise<Response>): Promise<Response> {
  let response: Response;
  try {
    response = await orThrown(run);
  } catch (error) {
    const thrown = thrownAnswer((error as { digest?: unknown } | null)?.digest);
    if (thrown === undefined) {
      throw error;
    }
    response = thrown;
  }
  if (["x-middleware-next", "x-middleware-rewrite"].some((name) => response?.headers?.has(name))) {
    // NextResponse.next() and .rewrite() let another handler answer, after the commit.
    throw responseBypassed();
  }
  return response;
}

/** thrownAnswer is what the functions of next/navigation throw. */
function thrownAnswer(digest: unknown): Response | undefined {
  const parts = typeof digest === "string" ? digest.split(";") : [];
  switch (parts[0]) {
    case "NEXT_REDIRECT": // its type, the location, in which a ; may be, the status, an empty part
      return new Response(null, {
        status: Number(parts.at(-2)),
        headers: { Location: parts.slice(2, -2).join(";") },
      });
    case "NEXT_HTTP_ERROR_FALLBACK":
      return new Response(null, { status: Number(parts[1]) });
    case "NEXT_NOT_FOUND": // of Next.js 14
      return new Response(null, { status: 404 });
    default:
      return undefined;
  }
}

/** The cookies that a request has set, which Next.js adds to every answer of its handler. */
const MUTATED = Symbol.for("next.mutated.cookies");

/** keepCookies returns a function that takes back the cookies that are set from now on. */
async function keepCookies(): Promise<() => void> {
  let store: Record<symbol, unknown[] | undefined>;
  try {
    const { cookies } = (await import("next/headers.js")) as unknown as { cookies: () => Promise<typeof store> };
    store = await cookies();
  } catch {
    return () => {}; // not in a request of Next.js
  }
  const before = [...(store[MUTATED] ?? [])];
  return () => {
    const mutated = store[MUTATED] ?? [];
    mutated.splice(0, mutated.length, ...mutated.filter((cookie) => before.includes(cookie)));
  };
}
