import type { Entry, Store } from "./store";

/** A popup that was put off comes again after this time, in ms. */
export const laterAfter = 60_000;

/**
 * The modal notices that wait for an ack. One popup is shown at a time: the most urgent, and among equally urgent ones
 * the oldest. A popup that is shown stays until it is acked, put off, over or expired, so that nobody acks a popup that
 * has just changed under the finger.
 */
export class Popups {
  private shown = "";
  private readonly later = new Map<string, number>();

  /** Returns the popup to show now, and how many others wait. */
  next(store: Store, now: number): { entry: Entry; waiting: number } | undefined {
    const open = store.list().filter((entry) => this.isOpen(store, entry, now));
    open.sort(
      (a, b) =>
        Number(b.notice.id === this.shown) - Number(a.notice.id === this.shown) ||
        b.notice.priority - a.notice.priority ||
        a.notice.createTime - b.notice.createTime,
    );
    const entry = open[0];
    this.shown = entry?.notice.id ?? "";
    return entry && { entry, waiting: open.length - 1 };
  }

  /** Puts a popup off until a moment. */
  putOff(id: string, until: number): void {
    this.later.set(id, until);
  }

  private isOpen(store: Store, entry: Entry, now: number): boolean {
    const { id, expiresAt } = entry.notice;
    return store.needsAck(entry) && Date.parse(expiresAt) > now && (this.later.get(id) ?? 0) <= now;
  }
}
