import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readEvents, SilentStream } from "./sse";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function setup() {
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({ start: (given) => void (controller = given) });
  const chunks: (string | undefined)[][] = [];
  const onRetry = vi.fn();
  const done = readEvents(body, {
    silence: 45_000,
    onEvents: (events) => chunks.push(events.map(({ event, data }) => `${event} ${data}`)),
    onRetry,
  });
  const send = async (bytes: string | Uint8Array) => {
    controller.enqueue(typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes);
    await vi.advanceTimersByTimeAsync(0);
  };
  return { send, chunks, onRetry, done, end: () => controller.close() };
}

test("events of a chunk come together; a comment is a sign of life", async () => {
  const { send, chunks, onRetry, done, end } = setup();
  await send("retry: 2718\n\nevent: notice\ndata: 1\n\nevent: unread\ndata: 2\n\nevent: not");
  await send(":\n\n");
  expect(chunks).toEqual([["notice 1", "unread 2"], []]);
  expect(onRetry).toHaveBeenCalledWith(2718);
  end();
  await done;
  expect(vi.getTimerCount()).toBe(0);
});

test("a character that is split between chunks is whole", async () => {
  const { send, chunks, done, end } = setup();
  const bytes = new TextEncoder().encode("event: notice\ndata: 货\n\n");
  const cut = bytes.length - 4; // inside the character
  await send(bytes.slice(0, cut));
  await send(bytes.slice(cut));
  expect(chunks).toEqual([[], ["notice 货"]]);
  end();
  await done;
});

test("silence ends it", async () => {
  const { send, done } = setup();
  const failed = expect(done).rejects.toBeInstanceOf(SilentStream);
  await vi.advanceTimersByTimeAsync(44_000);
  await send(":\n\n");
  await vi.advanceTimersByTimeAsync(44_000);
  expect(vi.getTimerCount()).toBe(1);
  await vi.advanceTimersByTimeAsync(1000);
  await failed;
  expect(vi.getTimerCount()).toBe(0);
});
