import { isTemporary, ProblemError } from "./problem.js";

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;

/**
 * Returns the pause after a failed attempt, in ms. If the server asked for a pause, the result is this pause plus up to
 * one second. Otherwise the result is a random time up to a bound that doubles with each failure. So the clients of a
 * server do not all come back at once.
 */
export function nextPause(error: unknown, failed: number): number {
  if (error instanceof ProblemError && error.retryAfterMs) return error.retryAfterMs + Math.random() * 1000;
  return Math.random() * Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failed, 10), LONGEST_PAUSE_MS);
}

/** Waits, or returns earlier when the signal ends. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}

/**
 * Repeats attempt until it gets an answer that is not a temporary error. When the signal ends, insist throws the error of
 * the last attempt. onRetry is called before the pause after each failed attempt.
 */
export async function insist<T>(signal: AbortSignal, onRetry: (error: unknown, pauseMs: number) => void, attempt: () => Promise<T>): Promise<T> {
  for (let failed = 0; ; failed++) {
    try {
      return await attempt();
    } catch (error) {
      if (signal.aborted || !isTemporary(error)) throw error;
      const pause = nextPause(error, failed);
      onRetry(error, pause);
      await sleep(pause, signal);
      if (signal.aborted) throw error;
    }
  }
}
