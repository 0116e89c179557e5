import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { dataOf, WAIT_S, within, type Client } from "./client.js";
import { isAbort } from "./inbox.js";
import { clean, giveBack, LeaseLost, seconds, type Op, type Outcome } from "./outcome.js";
import { insist, sleep } from "./pause.js";
import type { Item, ItemHandler } from "./queue.js";
import type { components } from "./schema.js";

type Step = components["schemas"]["Step"];
type Stepped = components["schemas"]["Stepped"];
type Result = components["schemas"]["Result"];

interface Settings {
  name: string;
  worker: string;
  concurrency: number;
  prefetch: number;
  leaseMs: number;
  graceMs: number | undefined;
  test: boolean;
  warn: (message: string, error?: unknown) => void;
}

/** How long after a stop the worker tries to report outcomes to the queue. */
const FAREWELL_MS = 10_000;

/** An item that the worker has leased. */
class HeldItem {
  readonly ending = new AbortController(); // ends the handler's signal
  lost = false; // the queue has refused to extend the lease
  private timer: NodeJS.Timeout | undefined;

  constructor(readonly item: Item) {}

  /** Sets the end of the lease to this time from now. The handler's signal ends with the lease. */
  leaseFor(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ending.abort(new LeaseLost()), ms);
  }

  drop(): void {
    clearTimeout(this.timer);
  }
}

/** One run of Queue.work. */
export class Work {
  private readonly held = new Set<HeldItem>();
  private readonly ready: HeldItem[] = [];
  private readonly running = new Set<Promise<void>>();
  private wake = () => {}; // called when there is room for an item, and at the stop
  private readonly late = new AbortController(); // ends FAREWELL_MS after the stop
  private farewell: NodeJS.Timeout | undefined;

  constructor(
    private readonly client: Client,
    private readonly settings: Settings,
    private readonly handle: ItemHandler,
    private readonly stop: AbortSignal,
  ) {
    setMaxListeners(0, this.late.signal);
  }

  async run(): Promise<void> {
    const stopped = () => this.stopped();
    this.stop.addEventListener("abort", stopped);
    const over = new AbortController();
    const extending = this.extendAll(over.signal);
    let grace: NodeJS.Timeout | undefined;
    try {
      await this.leaseAll();
    } finally {
      if (this.settings.graceMs !== undefined) {
        grace = setTimeout(() => this.held.forEach((held) => held.ending.abort(new Error("the worker stops"))), this.settings.graceMs);
      }
      await this.drain();
      over.abort();
      await extending;
      clearTimeout(grace);
      clearTimeout(this.farewell);
      this.stop.removeEventListener("abort", stopped);
    }
  }

  private stopped(): void {
    this.farewell = setTimeout(() => this.late.abort(), FAREWELL_MS);
    this.wake();
  }

  /** Leases items while there is room, until the stop or a refusal of the service. */
  private async leaseAll(): Promise<void> {
    const { concurrency, prefetch } = this.settings;
    while (!this.stop.aborted) {
      const room = concurrency + prefetch - this.held.size;
      if (room === 0) {
        await new Promise<void>((resolve) => (this.wake = resolve));
        continue;
      }
      for (const item of await this.lease(room)) {
        const held = new HeldItem(item);
        held.leaseFor(this.settings.leaseMs);
        this.held.add(held);
        this.ready.push(held);
      }
      this.begin();
    }
  }

  /** Begins the handlers of ready items, as far as concurrency allows. */
  private begin(): void {
    while (!this.stop.aborted && this.running.size < this.settings.concurrency) {
      const held = this.ready.shift();
      if (!held) return;
      const running: Promise<void> = this.work(held).finally(() => {
        this.running.delete(running);
        this.drop(held);
        this.begin();
      });
      this.running.add(running);
    }
  }

  private drop(held: HeldItem): void {
    held.drop();
    this.held.delete(held);
    this.wake();
  }

  /** Gives back the items that were not begun, and waits for the running handlers. */
  private async drain(): Promise<void> {
    const back = this.ready.splice(0).map((held) => this.settle(held, giveBack("the worker stops")).finally(() => this.drop(held)));
    await Promise.all([...back, ...this.running]);
  }

  /**
   * Leases items, and waits for them. A request whose answer was lost is repeated under its request id, and gets the
   * same items. A request that the stop has cut off is repeated, too. Its items go back to the queue like all items
   * that were not begun.
   */
  private async lease(max: number): Promise<Item[]> {
    const { name, worker, leaseMs } = this.settings;
    const body: Step = { worker, requestId: randomUUID(), max, lease: seconds(leaseMs), wait: `${WAIT_S}s` };
    let tries = 0;
    try {
      const { items } = await insist(this.stop, this.warn(`a request for items of ${name} failed`), () => {
        tries++;
        return this.step(body, WAIT_S, this.stop);
      });
      return tries > 1 ? await this.stillLeased(items) : items;
    } catch (error) {
      if (!this.stop.aborted) throw error;
    }
    const { wait: _, ...again } = { ...body, max: 0 };
    try {
      const { items } = await insist(this.late.signal, this.warn("the items of the last lease could not be asked for"), () => this.step(again, 0, this.late.signal));
      return items;
    } catch (error) {
      this.settings.warn(`tallyman: items of the last lease of ${name}, if any, come back to the queue when their leases end`, error);
      return [];
    }
  }

  /** Extends the leases of items that an earlier attempt may have leased long ago, and leaves out items whose leases are lost. */
  private async stillLeased(items: Item[]): Promise<Item[]> {
    if (items.length === 0) return items;
    try {
      const results = await this.extend(items, AbortSignal.timeout(this.settings.leaseMs));
      return items.filter((_, index) => results[index]?.outcome === "ok");
    } catch (error) {
      this.settings.warn(`tallyman: leases could not be extended; the items come back to the queue when their leases end`, error);
      return [];
    }
  }

  /** Calls the handler for an item and reports the outcome to the queue. */
  private async work(held: HeldItem): Promise<void> {
    const { signal } = held.ending;
    if (signal.aborted) return this.settings.warn(`tallyman: the lease of item ${held.item.id} was lost before the handler began`);
    let outcome: Outcome;
    try {
      outcome = (await this.handle(held.item, signal)) ?? { op: "ack" };
    } catch (error) {
      const cut = signal.aborted && (error === signal.reason || isAbort(error));
      outcome = cut ? giveBack(String(signal.reason)) : { op: "nack", note: String(error) };
    }
    if (held.lost) return this.settings.warn(`tallyman: the lease of item ${held.item.id} was lost while the handler worked; another worker may have the item`);
    await this.settle(held, outcome);
  }

  /** Reports the outcome of an item until the queue answers. After a stop, settle tries for FAREWELL_MS. */
  private async settle(held: HeldItem, outcome: Outcome): Promise<void> {
    const { id, attempt } = held.item;
    const op: Op = { ...outcome, id, attempt, ...(outcome.note && { note: clean(outcome.note) }) };
    let tries = 0;
    let result: Result | undefined;
    try {
      const { results } = await insist(this.late.signal, this.warn(`the outcome of item ${id} could not be reported`), () => {
        tries++;
        return this.step(this.ops([op]), 0, this.late.signal);
      });
      result = results[0];
    } catch (error) {
      return this.settings.warn(`tallyman: the outcome of item ${id} (${op.op}) was not reported; the item comes back to the queue when its lease ends`, error);
    }
    if (result?.outcome === "ok" || (result?.outcome === "lease_lost" && tries > 1)) return; // an earlier attempt reported the outcome, or the lease was lost
    if (result?.outcome === "suspend_limit") return this.settle(held, { op: "nack", note: `the item cannot be suspended again: ${outcome.note ?? ""}` });
    this.settings.warn(`tallyman: the queue refused the outcome of item ${id} (${op.op}): ${result?.outcome}; nothing was changed`);
  }

  /** Extends the leases of all items well before they end. */
  private async extendAll(over: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(this.settings.leaseMs / 3, over);
      if (over.aborted) return;
      const held = [...this.held];
      if (held.length === 0) continue;
      try {
        const results = await this.extend(held.map(({ item }) => item), AbortSignal.any([over, AbortSignal.timeout(this.settings.leaseMs / 3)]));
        held.forEach((one, index) => this.extended(one, results[index]));
      } catch (error) {
        if (!over.aborted) this.settings.warn(`tallyman: the leases of ${held.length} items could not be extended`, error);
      }
    }
  }

  private extended(held: HeldItem, result: Result | undefined): void {
    if (!this.held.has(held)) return;
    if (result?.outcome === "ok") return held.leaseFor(this.settings.leaseMs);
    held.lost = true;
    held.ending.abort(new LeaseLost());
  }

  /** Extends leases. A repeated call does no harm. */
  private async extend(items: Item[], signal: AbortSignal): Promise<Result[]> {
    const ops = items.map(({ id, attempt }): Op => ({ op: "extend", id, attempt, lease: seconds(this.settings.leaseMs) }));
    return (await insist(signal, () => {}, () => this.step(this.ops(ops), 0, signal))).results;
  }

  /**
   * Returns a request with operations. The request has no request id, because the worker's last request id must remain
   * the id of its last lease request.
   */
  private ops(ops: Op[]): Step {
    return { worker: this.settings.worker, ops };
  }

  private async step(body: Step, waitSeconds: number, signal: AbortSignal): Promise<Stepped> {
    const { name: queue, test } = this.settings;
    return dataOf(
      await this.client.api.POST("/api/v1/queues/{queue}/step", {
        params: { path: { queue } },
        body: { ...body, ...(test && { test }) },
        signal: within(signal, waitSeconds),
      }),
    );
  }

  private warn(what: string): (error: unknown, pauseMs: number) => void {
    return (error, pauseMs) => this.settings.warn(`tallyman: ${what}; next attempt in ${Math.round(pauseMs)} ms`, error);
  }
}
