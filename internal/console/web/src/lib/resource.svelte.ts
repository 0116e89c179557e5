import { untrack } from "svelte";
import { Failure } from "../api/failure";
import { live } from "../api/live.svelte";

export interface ResourceOptions {
  /** Load again when the server says that something has changed. */
  live?: boolean;
  /** The shortest pause between two loads by `live`, in ms, for data that is large and changes seldom. */
  atMost?: number;
}

/**
 * Data of the server that a page shows. The data is loaded when the page opens, and again when a state changes that
 * `load` reads before its first await. An answer is thrown away if a later request has overtaken it. The old data stays
 * until the next answer, so nothing on the page jumps.
 */
export class Resource<T> {
  data = $state.raw<T>();
  failure = $state.raw<Failure>();
  /** True from start until the next answer. reload does not set it. */
  loading = $state(true);

  readonly #load: (signal: AbortSignal) => Promise<T>;
  #running: AbortController | undefined;

  constructor(load: (signal: AbortSignal) => Promise<T>) {
    this.#load = load;
  }

  /**
   * Starts loading, and returns a function that stops it. The effect that calls start tracks the states that `load`
   * reads.
   */
  start(): () => void {
    const running = new AbortController();
    this.#running?.abort();
    this.#running = running;
    const loaded = this.#load(running.signal);
    untrack(() => (this.loading = true));
    void this.#settle(loaded, running.signal);
    return () => running.abort();
  }

  /** Loads again. The old data stays until the answer. */
  async reload(): Promise<void> {
    const running = new AbortController();
    this.#running?.abort();
    this.#running = running;
    await this.#settle(
      untrack(() => this.#load(running.signal)),
      running.signal,
    );
  }

  async #settle(loaded: Promise<T>, signal: AbortSignal): Promise<void> {
    try {
      const data = await loaded;
      if (signal.aborted) return;
      this.data = data;
      this.failure = undefined;
    } catch (thrown) {
      if (signal.aborted) return;
      this.failure = Failure.from(thrown);
    }
    this.loading = false;
  }
}

/** Makes a resource for the component that calls it. */
export function resource<T>(
  load: (signal: AbortSignal) => Promise<T>,
  options: ResourceOptions = {},
): Resource<T> {
  const made = new Resource(load);
  $effect(() => made.start());
  if (options.live) {
    let seen = live.tick;
    let then = Date.now();
    $effect(() => {
      if (live.tick === seen || Date.now() - then < (options.atMost ?? 0)) return;
      seen = live.tick;
      then = Date.now();
      void made.reload();
    });
  }
  return made;
}
