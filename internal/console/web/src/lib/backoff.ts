/**
 * Computes the pauses between attempts, in ms. A pause is a random time below a bound that doubles, so that clients do
 * not come back together.
 */
export class Backoff {
  private tries = 0;

  constructor(
    private readonly first: number,
    private readonly longest: number,
  ) {}

  /** Returns the next pause. The pause is never shorter than retryAfter, for which the server has asked. */
  next(retryAfter = 0): number {
    const bound = Math.min(this.longest, this.first * 2 ** this.tries);
    this.tries = Math.min(this.tries + 1, 20);
    return retryAfter + Math.random() * bound;
  }

  /** Sets the bound back after a success. */
  reset(): void {
    this.tries = 0;
  }
}

/** Waits for the time, or until the signal ends. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener("abort", done);
  });
}
