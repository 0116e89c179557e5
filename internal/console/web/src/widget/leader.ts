/** The part of navigator.locks that is needed. */
export interface Locks {
  request(
    name: string,
    options: { signal?: AbortSignal; steal?: boolean },
    hold: () => Promise<void>,
  ): Promise<void>;
}

/**
 * Lets one tab of the browser work at a time. The first tab works. The others wait in a queue of the browser. The next
 * tab begins when the first one has closed, crashed or left.
 */
export class Leader {
  /** This tab is the one that works. */
  leads = false;
  private waiting = new AbortController();
  private steal = false;

  constructor(
    private readonly name: string,
    /** Without locks (a page over plain http) every tab works for itself. */
    private readonly locks: Locks | undefined,
  ) {}

  /** There are no other tabs, as far as this tab can tell. */
  get alone(): boolean {
    return !this.locks;
  }

  /**
   * Waits for the tab's turn and works. Ends when the work ends, when another tab has taken over, or when the signal
   * ends.
   */
  async lead(signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const term = new AbortController();
    this.waiting = new AbortController();
    const end = () => {
      term.abort();
      this.waiting.abort();
    };
    signal.addEventListener("abort", end);
    try {
      await this.request(async () => {
        if (term.signal.aborted) {
          return;
        }
        this.leads = true;
        await work(term.signal);
      });
    } catch (thrown) {
      if (!isAbort(thrown)) {
        throw thrown;
      }
    } finally {
      this.leads = false;
      term.abort(); // the lock may have been taken away while the work went on
      signal.removeEventListener("abort", end);
    }
  }

  /** Ends the wait of lead. The next lead takes the lock from a silent tab, which the system may have frozen. */
  takeOver(): void {
    this.steal = true;
    this.waiting.abort();
  }

  private request(hold: () => Promise<void>): Promise<void> {
    if (!this.locks) {
      return hold();
    }
    const options = this.steal ? { steal: true } : { signal: this.waiting.signal };
    this.steal = false;
    return this.locks.request(this.name, options, hold);
  }
}

function isAbort(thrown: unknown): boolean {
  return thrown instanceof DOMException && thrown.name === "AbortError";
}
