// Makes the operations of a service take effect once, however often they are called.

export { vendorKey, type Effect, type VendorCall } from "./once/call.js";
export { FinalError, KitError, LostRace, NotDone, hasCode, type Code } from "./errors.js";
export {
  eventBridge,
  natsMessage,
  sqsBatch,
  type EventBridgeEvent,
  type NatsMessage,
  type SqsBatchAnswer,
  type SqsRecord,
} from "./events.js";
export { payloadFingerprint, requestFingerprint, type RequestLine } from "./fingerprint/fingerprint.js";
export { canonicalJSON } from "./fingerprint/canonical.js";
export type { LongRoute, PrincipalOption, Route } from "./http/exchange.js";
export type { Work, WorkRequest } from "./once/work.js";
export { EVENT_SCOPES, eventScope, parseKey, routeScope, type Key } from "./key.js";
export { Kit, type Lifetimes, type Once, type Operation } from "./kit.js";
export type { Options, RenderedProblem } from "./options.js";
export { problemOf, type Problem } from "./problem.js";
export { purge, purgeHandler, type PurgeAnswer, type PurgeOptions } from "./purge.js";
export { defaultPolicy, type Disposition, type Reply, type StoredHeaders } from "./reply.js";
export type { Claim, KeyRecord, KeyStatus, OpenTx, PurgeBatch, Purged, State, Store, Decision } from "./store.js";
