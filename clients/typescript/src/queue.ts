import { hostname } from "node:os";
import type { Client } from "./client.js";
import type { Outcome } from "./outcome.js";
import type { components } from "./schema.js";
import { Work } from "./work.js";

/** An item that this worker has leased. */
export type Item = components["schemas"]["Leased"];

/** Returns nothing if the item is done, returns an outcome for other results, and throws if the item has failed. */
export type ItemHandler = (item: Item, signal: AbortSignal) => void | Outcome | Promise<void | Outcome>;

export interface QueueOptions {
  /** Name of the queue. */
  name: string;
  /** Name of the worker. Workers of one token that run at the same time need different names. By default host and process id. */
  worker?: string;
  /** Items that are handled at a time. 1 by default. */
  concurrency?: number;
  /** Items that are leased in advance. 0 by default. */
  prefetch?: number;
  /** Time after which another worker gets the items of a dead worker. A live worker extends its leases. One minute by default. */
  leaseMs?: number;
  /** Time for handlers to finish after a stop; then their signals end. By default no limit. */
  graceMs?: number;
  /** Use the test twin. */
  test?: boolean;
  /** Called for failed attempts and lost leases. By default warnings on the console. */
  warn?: (message: string, error?: unknown) => void;
}

/** A queue whose items a program handles. */
export class Queue {
  constructor(
    private readonly client: Client,
    private readonly options: QueueOptions,
  ) {}

  /**
   * Leases items and calls the handler for each item until the signal ends. work extends the lease while the handler
   * works. When the signal ends, work leases no more items. Handlers finish, and their outcomes are reported. Items
   * that were not begun go back to the queue. Then work resolves. If the service refuses to lease items, work ends in
   * the same way and throws a ProblemError.
   */
  async work(handle: ItemHandler, { signal = new AbortController().signal } = {}): Promise<void> {
    const { name, worker = `${hostname()}-${process.pid}`, concurrency = 1, prefetch = 0, leaseMs = 60_000, graceMs, test = false, warn = console.warn } = this.options;
    if (!(concurrency >= 1 && prefetch >= 0 && concurrency + prefetch <= 1000 && leaseMs > 0)) {
      throw new RangeError("concurrency must be at least 1, prefetch at least 0, both together at most 1000, and leaseMs greater than 0");
    }
    await new Work(this.client, { name, worker, concurrency, prefetch, leaseMs, graceMs, test, warn }, handle, signal).run();
  }
}
