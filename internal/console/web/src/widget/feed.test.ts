import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Client, Polled } from "./client";
import { Feed } from "./feed";
import { aNotice, noon } from "./fixtures";
import { Refusal } from "./refusal";
import { Store } from "./store";
import type { Page, Status } from "./types";

beforeEach(() => {
  vi.useFakeTimers({ now: noon });
  vi.spyOn(Math, "random").mockReturnValue(1);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const page = (cursor: string, more: Partial<Page> = {}): Page => ({
  notices: [],
  changes: [],
  cursor,
  unread: 0,
  unreadMore: false,
  more: false,
  reset: false,
  ...more,
});

/** A server of which a test says what it answers. */
class FakeClient {
  asked: string[] = [];
  polls: (() => Promise<Polled>)[] = [];
  streams: (() => ReadableStream<Uint8Array> | Promise<never>)[] = [];
  tokens = { expiresIn: () => Infinity, forget: vi.fn() };
  popups = [aNotice("old-popup", { modal: "popup" })];
  popupsMore = false;
  summaries = 0;

  poll(after: string, tag: string, wait: number, signal: AbortSignal): Promise<Polled> {
    this.asked.push(`poll ${after}|${tag}|${wait}`);
    return this.polls.shift()?.() ?? hang(signal);
  }

  summary() {
    this.summaries++;
    return Promise.resolve({ popups: this.popups, popupsMore: this.popupsMore });
  }

  async stream(after: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    this.asked.push(`stream ${after}`);
    const body = await this.streams.shift()?.();
    return body ? bound(body, signal) : hang(signal);
  }
}

/** The body of an answer ends with the request's signal. */
function bound(body: ReadableStream<Uint8Array>, signal: AbortSignal): ReadableStream<Uint8Array> {
  const ends = new TransformStream<Uint8Array, Uint8Array>();
  void body.pipeTo(ends.writable, { signal }).catch(() => undefined);
  return ends.readable;
}

function hang(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new DOMException("aborted", "AbortError")));
  });
}

function setup() {
  const client = new FakeClient();
  const store = new Store();
  const reports: Status[] = [];
  const state = { online: true, idle: false };
  const feed = new Feed(client as unknown as Client, {
    cursor: () => store.cursor,
    loaded: () => store.loaded,
    lacksPopups: () => store.lacksPopups,
    take: (batch) => void store.apply(batch, Date.now()),
    report: (status) => void (reports.at(-1) === status || reports.push(status)),
    online: () => state.online,
    idle: () => state.idle,
  });
  const life = new AbortController();
  const loaded = () => client.polls.push(async () => ({ page: page("c1"), tag: "t1" }));
  return { client, store, reports, state, feed, life, loaded, run: () => feed.run(life.signal) };
}

/** A stream that sends this and stays open, or ends. */
function events(text: string, end = false): () => ReadableStream<Uint8Array> {
  return () =>
    new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(text));
        if (end) {
          controller.close();
        }
      },
    });
}

const event = (id: string, name: string, data: unknown) =>
  `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
const flush = () => vi.advanceTimersByTimeAsync(0);

test("pages first, then the stream from their cursor", async () => {
  const { client, store, reports, life, run } = setup();
  client.polls.push(
    async () => ({ page: page("c1", { notices: [aNotice("a")], more: true }), tag: "t1" }),
    async () => ({ page: page("c2", { notices: [aNotice("b")], unread: 2 }), tag: "t2" }),
  );
  client.streams.push(
    events(event("c3", "notice", aNotice("c")) + event("c3", "unread", { unread: 3, unreadMore: false })),
  );
  const running = run();
  await flush();
  expect(client.asked).toEqual(["poll ||0", "poll c1||0", "stream c2"]);
  expect(store.list().map((entry) => entry.notice.id)).toEqual(["old-popup", "a", "b", "c"]);
  expect(store.counts().unread).toBe(3);
  expect(store.cursor).toBe("c3");
  expect(reports).toEqual(["connecting", "live"]);
  life.abort();
  await running;
  expect(vi.getTimerCount()).toBe(0);
});

test("a stream that ends is opened again from the last cursor, after the server's time", async () => {
  const { client, life, loaded, run } = setup();
  loaded();
  client.streams.push(
    events(`retry: 2500\n\n${event("c5", "unread", { unread: 0, unreadMore: false })}`, true),
  );
  const running = run();
  await flush();
  await vi.advanceTimersByTimeAsync(2400);
  expect(client.asked).toEqual(["poll ||0", "stream c1"]);
  await vi.advanceTimersByTimeAsync(100);
  expect(client.asked.at(-1)).toBe("stream c5");
  life.abort();
  await running;
});

test("a stream that says nothing for 45 s is given up", async () => {
  const { client, life, loaded, run } = setup();
  loaded();
  client.streams.push(events(": \n\n"));
  const running = run();
  await vi.advanceTimersByTimeAsync(44_000);
  expect(client.asked).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(3000);
  expect(client.asked.at(-1)).toBe("stream c1");
  expect(client.asked).toHaveLength(3);
  life.abort();
  await running;
});

for (const [how, stream] of Object.entries({
  "is held up": undefined,
  "is cut": () => Promise.reject(new TypeError("Failed to fetch")),
  "is no stream": () => Promise.reject(new Refusal("error", "not a stream", 200, "no_stream")),
  "is one too many": () => Promise.reject(new Refusal("error", "too many", 503, "too_many_streams")),
  "ends at once": () => new ReadableStream<Uint8Array>({ start: (controller) => controller.close() }),
})) {
  test(`it polls, with the page's tag, while a stream ${how}`, async () => {
    const { client, store, reports, life, loaded, run } = setup();
    loaded();
    if (stream) {
      client.streams.push(stream);
    }
    client.polls.push(
      async () => ({ tag: "t1" }),
      async () => ({ page: page("c2", { notices: [aNotice("a")] }), tag: "t2" }),
    );
    const running = run();
    await vi.advanceTimersByTimeAsync(stream ? 2000 : 22_000);
    expect(client.asked.slice(1)).toEqual(["stream c1", "poll c1|t1|0", "poll c1|t1|25", "poll c2|t2|25"]);
    expect(reports.at(-1)).toBe("polling");
    expect(store.list()).toHaveLength(2);
    client.streams.push(events(event("c3", "unread", { unread: 0, unreadMore: false })));
    await vi.advanceTimersByTimeAsync(46_000); // the poll that hangs ends, and its time is over
    await vi.advanceTimersByTimeAsync(20_000);
    expect(reports.at(-1)).toBe("live");
    life.abort();
    await running;
  });
}

test("a network that is gone is no blocked stream: it is tried again, later each time", async () => {
  const { client, reports, life, loaded, run } = setup();
  const cut = () => Promise.reject(new TypeError("Failed to fetch"));
  loaded();
  client.streams.push(cut);
  client.polls.push(cut);
  const running = run();
  await flush();
  expect(reports.at(-1)).toBe("blocked");
  client.streams.push(events(event("c2", "unread", { unread: 0, unreadMore: false })));
  await vi.advanceTimersByTimeAsync(1000);
  expect(client.asked.slice(1)).toEqual(["stream c1", "poll c1|t1|0", "stream c1"]);
  expect(reports.at(-1)).toBe("live");
  life.abort();
  await running;
});

test("Retry-After is waited for", async () => {
  const { client, reports, life, run } = setup();
  client.polls.push(() => Promise.reject(new Refusal("error", "rebuilding", 503, "inbox_unavailable", 7000)));
  const running = run();
  await vi.advanceTimersByTimeAsync(6900);
  expect(client.asked).toHaveLength(1);
  expect(reports).toEqual(["error"]);
  await vi.advanceTimersByTimeAsync(1200); // and some jitter
  expect(client.asked).toHaveLength(2);
  life.abort();
  await running;
});

test("offline nothing is asked, until the page is back", async () => {
  const { client, reports, state, feed, life, run } = setup();
  state.online = false;
  const running = run();
  await vi.advanceTimersByTimeAsync(600_000);
  expect(client.asked).toEqual([]);
  expect(reports).toEqual(["offline"]);
  state.online = true;
  feed.wake();
  await flush();
  expect(client.asked).toEqual(["poll ||0"]);
  life.abort();
  await running;
});

test("who is not let in stops", async () => {
  const { client, run } = setup();
  client.polls.push(() => Promise.reject(new Refusal("forbidden", "not yours", 403)));
  await expect(run()).rejects.toMatchObject({ trouble: "forbidden" });
});

test("a cursor that the server does not know is given up", async () => {
  const { client, store, life, loaded, run } = setup();
  loaded();
  client.streams.push(() => Promise.reject(new Refusal("error", "what is that", 400, "bad_cursor")));
  client.polls.push(async () => ({ page: page("d1"), tag: "" }));
  const running = run();
  await vi.advanceTimersByTimeAsync(1000);
  expect(client.asked).toEqual(["poll ||0", "stream c1", "poll ||0", "stream d1"]);
  expect(store.cursor).toBe("d1");
  life.abort();
  await running;
});

test("a stream begins anew before its token expires, and with another one after it was revoked", async () => {
  const { client, life, loaded, run } = setup();
  loaded();
  client.tokens.expiresIn = () => 40_000;
  client.streams.push(events(event("c2", "unread", { unread: 0, unreadMore: false })));
  client.streams.push(events(event("c3", "end", { reason: "revoked" }), true));
  const running = run();
  await vi.advanceTimersByTimeAsync(40_001);
  expect(client.asked.slice(1)).toEqual(["stream c1", "stream c2", "stream c3"]);
  expect(client.tokens.forget).toHaveBeenCalledTimes(1);
  life.abort();
  await running;
});

test("a tab that speaks for itself and is not seen asks once a minute", async () => {
  const { client, state, feed, life, loaded, run } = setup();
  loaded();
  state.idle = true;
  client.polls.push(async () => ({ tag: "t1" }));
  const running = run();
  await vi.advanceTimersByTimeAsync(59_000);
  expect(client.asked).toEqual(["poll ||0", "poll c1|t1|0"]);
  await vi.advanceTimersByTimeAsync(1000);
  expect(client.asked).toHaveLength(3);
  state.idle = false;
  feed.wake();
  await flush();
  expect(client.asked.at(-1)).toBe("stream c1");
  life.abort();
  await running;
});

test("of more popups than the server tells at once, the rest is asked for when few are left", async () => {
  const { client, store, life, loaded, run } = setup();
  const popups = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, i) => aNotice(`p${from + i}`, { modal: "popup" }));
  loaded();
  client.popups = popups(0, 50);
  client.popupsMore = true;
  let push!: (text: string) => void;
  client.streams.push(
    () =>
      new ReadableStream({
        start: (controller) => void (push = (text) => controller.enqueue(new TextEncoder().encode(text))),
      }),
  );
  const acked = (from: number, to: number) =>
    popups(from, to)
      .map(({ id }) => event("c2", "change", { id, kind: "acked" }))
      .join("");
  const running = run();
  await flush();
  client.popups = popups(40, 60);
  client.popupsMore = false;
  push(acked(0, 40));
  await flush();
  expect(client.summaries).toBe(1);
  push(acked(40, 41));
  await flush();
  expect(client.summaries).toBe(2);
  expect(store.get("p59")).toBeDefined();
  push(acked(41, 60));
  await flush();
  expect(client.summaries).toBe(2);
  life.abort();
  await running;
});
