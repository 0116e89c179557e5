import { afterEach, expect, test, vi } from "vitest";
import { Backoff, pause } from "./backoff";

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

test("the bound doubles to the longest, and any time below it may come", () => {
  const random = vi.spyOn(Math, "random").mockReturnValue(1);
  const backoff = new Backoff(1000, 30_000);
  expect(Array.from({ length: 7 }, () => backoff.next())).toEqual([
    1000, 2000, 4000, 8000, 16_000, 30_000, 30_000,
  ]);
  random.mockReturnValue(0);
  expect(backoff.next()).toBe(0);
  expect(backoff.next(5000)).toBe(5000);
  random.mockReturnValue(1);
  backoff.reset();
  expect(backoff.next(5000)).toBe(6000);
});

test("a pause ends by its time or by its signal, and leaves no timer", async () => {
  vi.useFakeTimers();
  const life = new AbortController();
  const first = pause(1000, life.signal);
  vi.advanceTimersByTime(1000);
  await first;
  const second = pause(1000, life.signal);
  life.abort();
  await second;
  await pause(1000, life.signal);
  expect(vi.getTimerCount()).toBe(0);
});
