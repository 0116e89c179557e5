/** How long to wait before the next try, in ms: the bound doubles, and the time is anything below it, so that clients do not come together. */
export class Backoff {
  private tries = 0;

  constructor(
    private readonly first: number,
    private readonly longest: number,
  ) {}

  /** The next pause. A server that says when it wants to be asked again is not asked before. */
  next(retryAfter = 0): number {
    const bound = Math.min(this.longest, this.first * 2 ** this.tries);
    this.tries = Math.min(this.tries + 1, 20);
    return retryAfter + Math.random() * bound;
  }

  /** It went well. */
  reset(): void {
    this.tries = 0;
  }
}

/** Waits, or until the signal ends it. */
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
