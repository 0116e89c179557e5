import { isTemporary, ProblemError } from "./problem.js";

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;

/** How long to wait after a try that failed: what the server asked for and up to a second more, or at random up to a bound that doubles. Clients of a server do not come back together. */
export function nextPause(error: unknown, failed: number): number {
  if (error instanceof ProblemError && error.retryAfterMs) return error.retryAfterMs + Math.random() * 1000;
  return Math.random() * Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failed, 10), LONGEST_PAUSE_MS);
}

/** Waits, or less where the signal ends. */
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

/** Tries until there is an answer that stands: none that is temporary. It ends with the signal, with the error of the last try. */
export async function insist<T>(signal: AbortSignal, told: (error: unknown, pauseMs: number) => void, attempt: () => Promise<T>): Promise<T> {
  for (let failed = 0; ; failed++) {
    try {
      return await attempt();
    } catch (error) {
      if (signal.aborted || !isTemporary(error)) throw error;
      const pause = nextPause(error, failed);
      told(error, pause);
      await sleep(pause, signal);
      if (signal.aborted) throw error;
    }
  }
}
