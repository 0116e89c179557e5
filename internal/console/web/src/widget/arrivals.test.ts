import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Arrivals } from "./arrivals";
import { aNotice } from "./fixtures";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test("a burst is announced once, and nothing is announced for nothing", () => {
  const announce = vi.fn();
  const arrivals = new Arrivals(announce);
  arrivals.add([]);
  expect(vi.getTimerCount()).toBe(0);
  arrivals.add([aNotice("a")]);
  arrivals.add([aNotice("b"), aNotice("c")]);
  vi.advanceTimersByTime(1000);
  expect(announce.mock.calls.map(([notices]) => notices.length)).toEqual([3]);
  arrivals.add([aNotice("d")]);
  arrivals.stop();
  vi.advanceTimersByTime(1000);
  expect(announce).toHaveBeenCalledTimes(1);
});
