import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { live } from "./live.svelte";
import { session } from "./session.svelte";

/** A connection of the stream whose bytes the test sends. */
function connection() {
  let out!: ReadableStreamDefaultController<Uint8Array>;
  const cancel = vi.fn();
  const body = new ReadableStream<Uint8Array>({ start: (controller) => void (out = controller), cancel });
  const send = (text: string) => out.enqueue(new TextEncoder().encode(text));
  return { body, cancel, send, end: () => out.close() };
}

const calls: { signal: AbortSignal; headers: Record<string, string> }[] = [];
let answers: (() => Response | Promise<Response>)[] = [];

beforeEach(() => {
  vi.useFakeTimers();
  calls.length = 0;
  answers = [];
  vi.stubGlobal("fetch", (_: string, init: { signal: AbortSignal; headers: Record<string, string> }) => {
    calls.push(init);
    const answer = answers.shift();
    return answer ? Promise.resolve(answer()) : Promise.reject(new TypeError("refused"));
  });
});

afterEach(() => {
  live.stop();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const event = (version: string, ahead = 0) => {
  const at = new Date(Date.now() + ahead).toISOString();
  return `event: overview\ndata: ${JSON.stringify({ version, at })}\n\n`;
};
const passes = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

test("the overview is what the last event says, and the tick moves", async () => {
  const stream = connection();
  answers = [() => new Response(stream.body)];
  live.start();
  expect(live.state).toBe("connecting");
  const before = live.tick;
  stream.send(event("1"));
  await passes(10);
  stream.send(event("2") + event("3"));
  await passes(10);
  expect(live.overview).toMatchObject({ version: "3" });
  expect([live.state, live.tick - before]).toEqual(["live", 2]);
});

test("the server's clock is followed", async () => {
  const stream = connection();
  answers = [() => new Response(stream.body)];
  live.start();
  stream.send(event("1", 5_000));
  await passes(10);
  const { rules = 0, browser = 0 } = live.seen ?? {};
  expect(rules - browser).toBeGreaterThan(4_900);
  expect(rules - browser).toBeLessThanOrEqual(5_000);
});

test("a connection that is silent is given up, one with heartbeats is not", async () => {
  const silent = connection();
  answers = [() => new Response(silent.body)];
  live.start();
  silent.send(event("1"));
  await passes(39_000);
  silent.send(": beat\n\n");
  await passes(39_000);
  expect(silent.cancel).not.toHaveBeenCalled();
  await passes(2_000);
  expect(silent.cancel).toHaveBeenCalled();
  expect(live.state).toBe("retrying");
});

test("it connects again after an end, and later and later while that fails", async () => {
  vi.spyOn(Math, "random").mockReturnValue(1);
  const first = connection();
  answers = [() => new Response(first.body)];
  live.start();
  first.send(event("1"));
  first.end();
  await passes(1_000);
  expect(live.state).toBe("retrying");
  expect(calls.length).toBe(2);
  await passes(60_000);
  expect(calls.length).toBe(7); // after 1, 2, 4, 8, 16 and 30 s at most
  expect(live.overview).toMatchObject({ version: "1" });
});

test("a token that is taken no longer ends the session", async () => {
  session.token = "secret";
  answers = [() => new Response("{}", { status: 401 })];
  live.start();
  await passes(10);
  expect(calls[0]?.headers).toEqual({ Authorization: "Bearer secret" });
  expect([session.state, session.token, session.ended]).toEqual(["out", "", true]);
});

test("whoever may not see the overview looks again from time to time", async () => {
  answers = [() => new Response("{}", { status: 403 })];
  live.start();
  await passes(10);
  expect(live.state).toBe("timed");
  const before = live.tick;
  await passes(30_000);
  expect(live.tick - before).toBe(3);
  expect(calls.length).toBe(1);
  live.stop();
  await passes(30_000);
  expect(live.tick - before).toBe(3);
});

test("it does not wait when the network is back", async () => {
  const stream = connection();
  live.start();
  await passes(60_000);
  answers = [() => new Response(stream.body)];
  const tried = calls.length;
  window.dispatchEvent(new Event("online"));
  stream.send(event("1"));
  await passes(10);
  expect(calls.length).toBe(tried + 1);
  expect(live.state).toBe("live");
});

test("stop ends the connection and the waiting", async () => {
  const stream = connection();
  answers = [() => new Response(stream.body)];
  live.start();
  await passes(10);
  live.stop();
  expect(calls[0]?.signal.aborted).toBe(true);
  await passes(120_000);
  expect(calls.length).toBe(1);
});
