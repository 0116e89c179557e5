import { untrack } from "svelte";
import { Failure } from "../api/failure";
import { live } from "../api/live.svelte";

/** A page of a list, with the cursor of the next page; undefined on the last page. */
export interface PageOf<T> {
  rows: readonly T[];
  next?: string | undefined;
}

export interface PagesOptions {
  /** Look for new rows when the server says that something has changed. */
  live?: boolean;
}

/** The shortest pause between two looks at the first page, in ms, however fast the server ticks. */
const leastPause = 2_000;

/**
 * A long list that comes from the server page by page, the latest row first. New rows do not move the rows on the
 * screen: `fresh` counts them until `reload` is called. Rows that have changed are replaced in their places.
 */
export class Pages<T> {
  data = $state.raw<readonly T[]>();
  failure = $state.raw<Failure>();
  /** True from start until the next answer. reload does not set it. */
  loading = $state(true);
  /** The next page is on its way. */
  going = $state(false);
  /** Why the next page did not come. */
  broken = $state.raw<Failure>();
  /** How many rows of the first page are new: they are not shown yet. */
  fresh = $state(0);
  /** There are more new rows than a page has. */
  freshMore = $state(false);
  next = $state.raw<string>();

  readonly #load: (after: string | undefined, signal: AbortSignal) => Promise<PageOf<T>>;
  readonly #key: (row: T) => string | number;
  #running = new AbortController();
  #looked = 0;
  #later: ReturnType<typeof setTimeout> | undefined;

  constructor(
    load: (after: string | undefined, signal: AbortSignal) => Promise<PageOf<T>>,
    key: (row: T) => string | number,
  ) {
    this.#load = load;
    this.#key = key;
  }

  /**
   * Starts with the first page, and returns a function that stops the list. The effect that calls start tracks the
   * states that `load` reads.
   */
  start(): () => void {
    const running = this.#renew();
    const loaded = this.#load(undefined, running.signal);
    untrack(() => (this.loading = true));
    void this.#begin(loaded, running.signal);
    return () => {
      running.abort();
      this.#forget();
    };
  }

  /** Begins again with the first page: after a failure, after a change, or to show new rows. */
  async reload(): Promise<void> {
    const running = this.#renew();
    await this.#begin(
      untrack(() => this.#load(undefined, running.signal)),
      running.signal,
    );
  }

  /** Loads the next page, unless a request is on its way. */
  async more(): Promise<void> {
    if (this.going || this.loading || !this.data || this.next === undefined) return;
    const { signal } = this.#running;
    this.going = true;
    this.broken = undefined;
    try {
      const page = await this.#load(this.next, signal);
      if (signal.aborted) return;
      const known = new Set(this.data.map(this.#key));
      this.data = [...this.data, ...page.rows.filter((row) => !known.has(this.#key(row)))];
      this.next = page.next;
    } catch (thrown) {
      if (!signal.aborted) this.broken = Failure.from(thrown);
    } finally {
      if (!signal.aborted) this.going = false;
    }
  }

  /** Loads the first page again, soon. Replaces rows that have changed, and counts new rows. */
  async look(): Promise<void> {
    if (this.loading || this.#later) return;
    const early = this.#looked + leastPause - Date.now();
    if (early > 0) {
      this.#later = setTimeout(() => (this.#forget(), void this.look()), early);
      return;
    }
    this.#looked = Date.now();
    const { signal } = this.#running;
    try {
      const page = await untrack(() => this.#load(undefined, signal));
      if (signal.aborted) return;
      this.failure = undefined;
      if (!this.data?.length) return this.#fill(page);
      const shown = new Set(this.data.map(this.#key));
      const latest = new Map(page.rows.map((row) => [this.#key(row), row]));
      this.data = this.data.map((row) => latest.get(this.#key(row)) ?? row);
      this.fresh = page.rows.filter((row) => !shown.has(this.#key(row))).length;
      this.freshMore = page.next !== undefined && this.fresh === page.rows.length;
    } catch (thrown) {
      if (!signal.aborted) this.failure = Failure.from(thrown);
    }
  }

  #forget(): void {
    clearTimeout(this.#later);
    this.#later = undefined;
  }

  #renew(): AbortController {
    this.#forget();
    this.#running.abort();
    this.#running = new AbortController();
    untrack(() => (this.going = false));
    return this.#running;
  }

  async #begin(loaded: Promise<PageOf<T>>, signal: AbortSignal): Promise<void> {
    try {
      const page = await loaded;
      if (signal.aborted) return;
      this.#fill(page);
      this.failure = undefined;
    } catch (thrown) {
      if (signal.aborted) return;
      this.failure = Failure.from(thrown);
    }
    this.loading = false;
  }

  #fill(page: PageOf<T>): void {
    Object.assign(this, { data: page.rows, next: page.next, fresh: 0, freshMore: false, broken: undefined });
  }
}

/** Makes a long list for the component that calls it. */
export function pages<T>(
  load: (after: string | undefined, signal: AbortSignal) => Promise<PageOf<T>>,
  key: (row: T) => string | number,
  options: PagesOptions = {},
): Pages<T> {
  const made = new Pages(load, key);
  $effect(() => made.start());
  if (options.live) {
    let seen = live.tick;
    $effect(() => {
      if (live.tick === seen) return;
      seen = live.tick;
      void untrack(() => made.look());
    });
  }
  return made;
}
