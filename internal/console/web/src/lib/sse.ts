import { createParser, type EventSourceMessage } from "eventsource-parser";

/** What somebody wants to know who reads a stream of events. */
export interface EventReader {
  /** How long the stream may be without a byte, in ms; a server that lives sends a comment now and then. */
  silence: number;
  /** All events of a chunk together, so that a burst is drawn once. Empty when only a comment came. */
  onEvents(events: EventSourceMessage[]): void;
  /** How long to wait before coming back, in ms. */
  onRetry?(milliseconds: number): void;
}

/** The stream has been without a byte for too long: the server, or what is between, has forgotten us. */
export class SilentStream extends Error {
  override name = "SilentStream";
}

/**
 * Reads server-sent events from the body of an answer, until it ends. The browser's own EventSource cannot send an
 * Authorization header, so the answer comes from fetch, and its AbortSignal ends the reading.
 */
export async function readEvents(body: ReadableStream<Uint8Array>, to: EventReader): Promise<void> {
  let events: EventSourceMessage[] = [];
  const parser = createParser({
    onEvent: (event) => events.push(event),
    onRetry: (milliseconds) => to.onRetry?.(milliseconds),
  });
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let silent = false;
  const hush = () => {
    silent = true;
    void reader.cancel();
  };
  let timer = setTimeout(hush, to.silence);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        break;
      }
      clearTimeout(timer);
      timer = setTimeout(hush, to.silence);
      parser.feed(decoder.decode(value, { stream: true }));
      const chunk = events;
      events = [];
      to.onEvents(chunk);
    }
  } finally {
    clearTimeout(timer);
    void reader.cancel().catch(() => undefined); // it may have failed already
  }
  if (silent) {
    throw new SilentStream(`nothing came for ${to.silence / 1000} s`);
  }
}
