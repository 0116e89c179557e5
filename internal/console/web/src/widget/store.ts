import type { Batch, Change, Mark, Notice } from "./types";

/** A notice in the list. */
export interface Entry {
  readonly notice: Notice;
  /** Its place in the order of delivery. Notices of the past that are loaded later have places below 0. */
  order: number;
  /** Its finding is over. */
  resolved: boolean;
  /** Identifies the episode of its finding; empty for a notice without a rule. */
  readonly life: string;
}

/** The counts on the bell. */
export interface Count {
  unread: number;
  /** There are more than `unread`. */
  more: boolean;
  /** Unread notices of priority 4 and 5 whose finding is not over. */
  urgent: number;
}

/** How many notices are kept; the oldest go first. */
const most = 2000;

/** How many ids are remembered, so that no notice is announced twice. */
const remembered = 20_000;

/** More popups are asked for when fewer than this number are left. */
const fewPopups = 10;

/** From this priority on a notice is urgent. */
export const urgentFrom = 4;

/**
 * The notices of one place as the server has sent them, and the marks of the user that the server has not answered yet.
 */
export class Store {
  cursor = "";
  loaded = false;

  private entries = new Map<string, Entry>();
  private count = { unread: 0, unreadMore: false };
  private countedAt = 0;
  private popupsMore = false;
  private next = 0;
  private over = new Set<string>();
  private readonly asked = new Map<string, Mark>();
  private readonly seen = new Set<string>();

  /** Applies a batch, and returns the new notices. Before the first window is complete, apply returns none. */
  apply(batch: Batch, now: number): Notice[] {
    if (batch.reset) {
      this.entries = new Map();
      this.over = new Set();
      this.next = 0;
      this.popupsMore = true; // the server may have more: popups that were here, or new popups
      this.loaded &&= batch.cursor !== "";
    }
    const wasLoaded = this.loaded;
    const arrivals = (batch.notices ?? []).filter((notice) => this.add(notice, now) && wasLoaded);
    this.addOlder(batch.older ?? [], now);
    this.popupsMore = batch.popupsMore ?? this.popupsMore;
    batch.changes?.forEach((change) => this.change(change));
    if (batch.count) {
      this.count = batch.count;
      this.countedAt = now;
    }
    this.cursor = batch.cursor ?? this.cursor;
    this.loaded ||= !!batch.loaded;
    this.trim();
    return arrivals;
  }

  /** Returns the whole state, for a tab that has just been opened. */
  snapshot(): Batch {
    const notices = this.list().map((entry) => entry.notice);
    const { count, cursor, loaded, popupsMore } = this;
    return { reset: true, notices, count, cursor, loaded, popupsMore };
  }

  private addOlder(notices: readonly Notice[], now: number): void {
    for (const notice of notices) {
      if (!this.entries.has(notice.id) && Date.parse(notice.expiresAt) > now) {
        this.see(notice.id);
        this.place(notice, -1);
      }
    }
    // Older notices come in another order than they were delivered, popups first. So the notices of the past are sorted
    // by time.
    const past = this.list().filter((entry) => entry.order < 0);
    past.sort((a, b) => a.notice.createTime - b.notice.createTime);
    past.forEach((entry, i) => (entry.order = i - past.length));
  }

  get(id: string): Entry | undefined {
    return this.entries.get(id);
  }

  /** All notices in the order of delivery. */
  list(): Entry[] {
    return [...this.entries.values()].sort((a, b) => a.order - b.order);
  }

  isRead({ notice }: Entry): boolean {
    return notice.read || this.asked.has(notice.id);
  }

  isAcked({ notice }: Entry): boolean {
    return notice.acked || this.asked.get(notice.id) === "acked";
  }

  isUrgent({ notice, resolved }: Entry): boolean {
    return notice.priority >= urgentFrom && !resolved;
  }

  /** Returns whether the notice is a popup that nobody has acked, and is not over. */
  needsAck(entry: Entry): boolean {
    const { modal, status } = entry.notice;
    return modal === "popup" && status !== "resolved" && !entry.resolved && !this.isAcked(entry);
  }

  /** Returns whether the server has more popups, and few are left here. */
  get lacksPopups(): boolean {
    return this.popupsMore && this.list().filter((entry) => this.needsAck(entry)).length < fewPopups;
  }

  counts(): Count {
    const unread = [...this.entries.values()].filter((entry) => !entry.notice.read);
    const marked = unread.filter((entry) => this.isRead(entry)).length;
    const urgent = unread.filter((entry) => this.isUrgent(entry) && !this.isRead(entry)).length;
    const rest = this.count.unreadMore ? this.count.unread : Math.max(0, this.count.unread - marked);
    return { unread: rest, more: this.count.unreadMore, urgent: Math.min(urgent, rest) };
  }

  /** Records a mark of the user. The mark shows at once. */
  ask(id: string, mark: Mark): void {
    if (this.asked.get(id) !== "acked") {
      this.asked.set(id, mark);
    }
  }

  /** Ends the requests for marks. done: the marks hold; otherwise they are taken back. */
  settle(changes: readonly Change[], done: boolean): void {
    for (const change of changes) {
      this.asked.delete(change.id);
      if (done) {
        this.change(change);
      }
    }
  }

  /** Returns the ids of the unread notices, which a mark of all notices would change. */
  unreadIds(): string[] {
    return this.list()
      .filter((entry) => !this.isRead(entry))
      .map((entry) => entry.notice.id);
  }

  /** Drops the notices that have expired, and returns whether there were any. */
  expire(now: number): boolean {
    const gone = [...this.entries.values()].filter((entry) => Date.parse(entry.notice.expiresAt) <= now);
    for (const { notice } of gone) {
      this.entries.delete(notice.id);
      if (!notice.read && Date.parse(notice.expiresAt) > this.countedAt) {
        this.countDown();
      }
    }
    return gone.length > 0;
  }

  /** Adds a notice, and returns whether the notice was never here. */
  private add(notice: Notice, now: number): boolean {
    const isNew = !this.seen.has(notice.id);
    this.see(notice.id);
    if (!this.entries.has(notice.id) && Date.parse(notice.expiresAt) > now) {
      this.place(notice, this.next++);
    }
    return isNew;
  }

  private see(id: string): void {
    this.seen.delete(id); // to the end of the set
    this.seen.add(id);
    for (const oldest of this.seen) {
      if (this.seen.size <= remembered) {
        break;
      }
      this.seen.delete(oldest);
    }
  }

  private place(notice: Notice, order: number): void {
    const life = lifeOf(notice);
    if (life && notice.status === "resolved") {
      this.over.add(life);
      for (const entry of this.entries.values()) {
        entry.resolved ||= entry.life === life;
      }
    }
    // A copy, because other tabs and the host keep the notice that they were given.
    this.entries.set(notice.id, { notice: { ...notice }, order, resolved: this.over.has(life), life });
  }

  private change({ id, kind }: Change): void {
    const notice = this.entries.get(id)?.notice;
    if (!notice) {
      return;
    }
    if (!notice.read) {
      this.countDown(); // until the server sends its count
    }
    notice.read = true;
    notice.acked ||= kind === "acked";
  }

  private countDown(): void {
    if (!this.count.unreadMore) {
      this.count = { ...this.count, unread: Math.max(0, this.count.unread - 1) };
    }
  }

  private trim(): void {
    if (this.entries.size <= most) {
      return;
    }
    // A popup stays until it is acked.
    const rest = this.list().filter((entry) => !this.needsAck(entry));
    for (const entry of rest.slice(0, this.entries.size - most)) {
      this.entries.delete(entry.notice.id);
    }
  }
}

/** Identifies the episode of its finding; empty for a notice without a rule. */
function lifeOf({ rule, scope, key, episode }: Notice): string {
  return rule && JSON.stringify([rule, scope, key, episode]);
}
