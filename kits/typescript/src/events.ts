// Operations of events: the publisher's ID is the key, never the queue's own.

import { eventScope } from "./key.js";
import type { Kit, Operation } from "./kit.js";

/** EventBridgeEvent is what a rule delivers. */
export interface EventBridgeEvent<Detail = unknown> {
  readonly id: string;
  readonly "detail-type": string;
  readonly detail: Detail;
}

/** eventBridge is the operation of an event for one of its handlers. */
export function eventBridge(event: EventBridgeEvent, handler: string): Operation {
  return { scope: eventScope(event["detail-type"], handler), key: event.id, payload: JSON.stringify(event.detail) };
}

/** SqsRecord is a message of a queue, as a Lambda function gets it. */
export interface SqsRecord {
  readonly messageId: string;
  readonly body: string;
  /** The queue. The name of a FIFO queue ends in `.fifo`. */
  readonly eventSourceARN?: string;
  readonly attributes?: { readonly MessageGroupId?: string };
}

/** SqsBatchAnswer names the messages that must be delivered again. */
export interface SqsBatchAnswer {
  readonly batchItemFailures: { readonly itemIdentifier: string }[];
}

/**
 * sqsBatch handles the EventBridge events in a batch, each once. The key is the ID
 * of the event in the body: an event that is put into the queue twice has two
 * message IDs. Only messages that failed come back; that needs
 * ReportBatchItemFailures. In a FIFO queue, the messages after a failed one of their
 * group come back too, without being handled, so that none overtakes it.
 *
 * onError hears of each failure; by default the kit's `logError` does.
 */
export async function sqsBatch<Tx, Detail>(
  kit: Kit<Tx>,
  handler: string,
  records: readonly SqsRecord[],
  work: (tx: Tx, event: EventBridgeEvent<Detail>) => Promise<void>,
  onError: (error: unknown, record: SqsRecord) => void = (error, { messageId }) =>
    kit.http.options.logError("event failed; the queue delivers it again", { handler, messageId, error }),
): Promise<SqsBatchAnswer> {
  const batchItemFailures: { itemIdentifier: string }[] = [];
  const stopped = new Set<string | undefined>(); // groups of a FIFO queue
  for (const record of records) {
    const fifo = record.eventSourceARN?.endsWith(".fifo");
    const group = record.attributes?.MessageGroupId;
    if (fifo && stopped.has(group)) {
      batchItemFailures.push({ itemIdentifier: record.messageId });
      continue;
    }
    try {
      const event = JSON.parse(record.body) as EventBridgeEvent<Detail>;
      if (typeof event?.id !== "string" || typeof event["detail-type"] !== "string" || event.detail === undefined) {
        throw new TypeError("the message's body is not an event of EventBridge with id, detail-type and detail");
      }
      await kit.once(eventBridge(event, handler), (tx) => work(tx, event));
    } catch (error) {
      stopped.add(group);
      batchItemFailures.push({ itemIdentifier: record.messageId });
      onError(error, record);
    }
  }
  return { batchItemFailures };
}

/** NatsMessage is a message of JetStream, as nats.js gives it. */
export interface NatsMessage {
  readonly data: Uint8Array;
  readonly headers?: { get(name: string): string } | undefined;
}

/** natsMessage is the operation of a JetStream message, which its publisher named with Nats-Msg-Id. */
export function natsMessage(message: NatsMessage, event: string, handler: string): Operation {
  const id = message.headers?.get("Nats-Msg-Id");
  if (!id) {
    throw new TypeError("the message has no Nats-Msg-Id: its publisher must set it to the event's ID");
  }
  return { scope: eventScope(event, handler), key: id, payload: message.data };
}
