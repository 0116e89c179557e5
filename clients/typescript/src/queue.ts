import { hostname } from "node:os";
import type { Client } from "./client.js";
import type { Outcome } from "./outcome.js";
import type { components } from "./schema.js";
import { Work } from "./work.js";

/** An item that this worker has leased. */
export type Item = components["schemas"]["Leased"];

/** Returns nothing where the item is done, an outcome where it is neither done nor failed, and throws where it has failed. */
export type ItemHandler = (item: Item, signal: AbortSignal) => void | Outcome | Promise<void | Outcome>;

export interface QueueOptions {
  /** Of the queue. */
  name: string;
  /** Tells the workers of one token apart; two that run at a time need two names. By default the host and the process. */
  worker?: string;
  /** Items that are handled at a time. 1 by default. */
  concurrency?: number;
  /** Items that are leased beyond those, and not begun yet. 0 by default. */
  prefetch?: number;
  /** How soon another worker gets the items of one that died. Leases of live ones are extended. A minute by default. */
  leaseMs?: number;
  /** How long handlers may go on after a stop; then their signals end. By default without a limit. */
  graceMs?: number;
  /** The test twin. */
  test?: boolean;
  /** Hears of failed tries and lost leases. By default warnings on the console. */
  warn?: (message: string, error?: unknown) => void;
}

/** A queue of items that a program works on. */
export class Queue {
  constructor(
    private readonly client: Client,
    private readonly options: QueueOptions,
  ) {}

  /**
   * Leases items and hands them to the handler until the signal ends. The lease is extended while the handler works. When the signal ends nothing more is leased.
   * Handlers finish, and their items are settled; items that were not begun are given back. Then work is done. It throws a ProblemError where the service refuses
   * to lease, after the same.
   */
  async work(handle: ItemHandler, { signal = new AbortController().signal } = {}): Promise<void> {
    const { name, worker = `${hostname()}-${process.pid}`, concurrency = 1, prefetch = 0, leaseMs = 60_000, graceMs, test = false, warn = console.warn } = this.options;
    if (!(concurrency >= 1 && prefetch >= 0 && concurrency + prefetch <= 1000 && leaseMs > 0)) {
      throw new RangeError("a queue's concurrency is 1 at least, its prefetch 0, both together 1000 at most, and its lease is longer than 0");
    }
    await new Work(this.client, { name, worker, concurrency, prefetch, leaseMs, graceMs, test, warn }, handle, signal).run();
  }
}
