import { createParser, type EventSourceMessage } from "eventsource-parser";

/** The callbacks and the limit of a reader of events. */
export interface EventReader {
  /** How long the stream may be without a byte, in ms. A live server sends a comment now and then. */
  silence: number;
  /**
   * Called with all events of a chunk together, so that a page draws a burst once. The list is empty if only a comment
   * came.
   */
  onEvents(events: EventSourceMessage[]): void;
  /** Called with the pause before the next connection, in ms, if the server sends one. */
  onRetry?(milliseconds: number): void;
}

/** The stream has been without a byte for too long: the server, or a proxy between, has lost the connection. */
export class SilentStream extends Error {
  override name = "SilentStream";
}

/**
 * Reads server-sent events from the body of an answer, until the body ends. The browser's own EventSource cannot send
 * an Authorization header. So the answer comes from fetch, and the AbortSignal of fetch ends the reading.
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
    void reader.cancel().catch(() => undefined); // the reader may have failed already
  }
  if (silent) {
    throw new SilentStream(`nothing came for ${to.silence / 1000} s`);
  }
}
