import type { EventSourceMessage } from "eventsource-parser";
import type { Batch, Change, Notice, Page } from "./types";

/** Converts a page of a poll to a batch. */
export function ofPage(page: Page): Batch {
  const { notices, changes, cursor, unread, unreadMore, reset } = page;
  return { reset, notices, changes, cursor, count: { unread, unreadMore } };
}

/**
 * Converts events of a stream to one batch. `end` is the reason why the stream ends, if it ends. No batch: nothing has
 * happened.
 */
export function batchOf(events: readonly EventSourceMessage[]): { batch?: Batch; end?: string } {
  let batch: Batch = {};
  let end: string | undefined;
  for (const { event, id, data } of events) {
    const content = JSON.parse(data) as unknown;
    switch (event) {
      case "reset":
        batch = { reset: true };
        break;
      case "notice":
        (batch.notices ??= []).push(content as Notice);
        break;
      case "change":
        (batch.changes ??= []).push(content as Change);
        break;
      case "unread":
        batch.count = content as NonNullable<Batch["count"]>;
        break;
      case "end":
        end = (content as { reason: string }).reason;
    }
    if (id) {
      batch.cursor = id;
    }
  }
  return { ...(Object.keys(batch).length > 0 && { batch }), ...(end !== undefined && { end }) };
}
