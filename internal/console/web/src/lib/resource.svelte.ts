import { untrack } from "svelte";
import { Failure } from "../api/failure";
import { live } from "../api/live.svelte";

export interface ResourceOptions {
  /** Load again when the server says that something has changed. */
  live?: boolean;
  /** Not more often than this, in ms: for what is large and changes seldom. */
  atMost?: number;
}

/**
 * Something that a page shows and the server keeps. It is loaded when the page opens and again whenever a state that
 * `load` reads before its first await changes; an answer that was overtaken is thrown away. What was shown stays until
 * the next answer is there, so nothing jumps.
 */
export class Resource<T> {
  data = $state.raw<T>();
  failure = $state.raw<Failure>();
  /** True until the first answer to what is asked now. */
  loading = $state(true);

  readonly #load: (signal: AbortSignal) => Promise<T>;
  #running: AbortController | undefined;

  constructor(load: (signal: AbortSignal) => Promise<T>) {
    this.#load = load;
  }

  /** Starts loading and returns what stops it. Read states are tracked by the effect that calls it. */
  start(): () => void {
    const running = new AbortController();
    this.#running?.abort();
    this.#running = running;
    const loaded = this.#load(running.signal);
    untrack(() => (this.loading = true));
    void this.#settle(loaded, running.signal);
    return () => running.abort();
  }

  /** Loads again; what is shown stays meanwhile. */
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
