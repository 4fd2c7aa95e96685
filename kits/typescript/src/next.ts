// The adapter for route handlers of Next.js.

import { fetchIdempotency, type FetchOptions } from "./fetch.js";
import type { Route } from "./http.js";
import type { Kit } from "./kit.js";

export { singlePrincipal } from "./fetch.js";

/**
 * nextIdempotency makes the wrapper `idempotent({ scope }, handler)` for route
 * handlers: `export const POST = idempotent({ scope: "orders" }, async (request, tx, context) => …)`.
 */
export function nextIdempotency<Tx>(kit: Kit<Tx>, options: FetchOptions) {
  const wrap = fetchIdempotency(kit, options);
  const next = <Context>(
    route: Route,
    handler: (request: Request, tx: Tx, context: Context) => Response | Promise<Response>,
  ): ((request: Request, context: Context) => Promise<Response>) => wrap<[Context]>(route, handler);
  return Object.assign(next, { accept: wrap.accept });
}
