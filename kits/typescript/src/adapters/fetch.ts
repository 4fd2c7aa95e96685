// The adapter for any handler of the Fetch API: a Request in, a Response out.

import { fetchWrapper, orThrown, type FetchOptions } from "../http/fetch.js";
import type { Kit } from "../kit.js";

export { singlePrincipal } from "../http/exchange.js";
export type { FetchOptions };

/**
 * fetchIdempotency makes the wrapper `idempotent({ scope }, handler)` for handlers
 * that take a Request, the transaction and more arguments.
 */
export function fetchIdempotency<Tx>(kit: Kit<Tx>, options: FetchOptions) {
  return fetchWrapper(kit, options, { answer: orThrown });
}
