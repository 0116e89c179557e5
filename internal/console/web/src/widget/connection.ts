import { Client } from "./client";
import { Feed } from "./feed";
import { hash } from "./hash";
import { Leader } from "./leader";
import { Refusal } from "./refusal";
import { type Channel, type Health, Share } from "./share";
import { Store } from "./store";
import { identity, type TokenProvider, Tokens } from "./tokens";
import type { Change, Mark, Notice, Page, Place } from "./types";

/** The callbacks of a connection. */
export interface ConnectionHost {
  /** Something has changed; these notices are new to the user. */
  changed(arrivals: Notice[]): void;
  health(health: Health): void;
  /** A popup was put off in another tab. */
  later(id: string, until: number): void;
  /** The page's token now belongs to another user. */
  otherUser(token: string): void;
}

/**
 * A tab's connection for the notices of one user in one place: the notices that the tab knows, and the way to get more.
 */
export class Connection {
  readonly store = new Store();
  private readonly life = new AbortController();
  private readonly client: Client;
  private readonly feed: Feed;
  private share: Share | undefined;
  private user = "";

  constructor(
    place: Place,
    provider: TokenProvider,
    private readonly host: ConnectionHost,
    token?: string,
  ) {
    this.client = new Client(place, new Tokens(provider, (given) => this.isOf(given), token));
    this.feed = new Feed(this.client, {
      cursor: () => this.store.cursor,
      loaded: () => this.store.loaded,
      lacksPopups: () => this.store.lacksPopups,
      take: (batch) => this.share?.take(batch),
      report: (status, heard, detail) => this.share?.report(status, heard, detail),
      online: () => navigator.onLine,
      idle: () => !navigator.locks && document.hidden,
    });
  }

  /** Begins, and goes on until stop. */
  start(): void {
    const { signal } = this.life;
    const wake = () => this.feed.wake();
    addEventListener("online", wake, { signal });
    addEventListener("offline", wake, { signal });
    if (!navigator.locks) {
      document.addEventListener("visibilitychange", wake, { signal });
    }
    void this.run(signal);
  }

  /** Ends everything: requests, timers, the lock and the channel. */
  stop(): void {
    this.life.abort();
  }

  /** Ends a wait, so that the connection tries again at once. */
  retry(): void {
    this.share?.retry();
  }

  /** Marks a notice. The mark shows at once, and is taken back if the server refuses. */
  async mark(id: string, mark: Mark): Promise<Refusal | undefined> {
    return this.ask([{ id, kind: mark }], () => this.client.mark(id, mark, this.life.signal));
  }

  /** Marks as read all notices that are here, and all that were delivered before. */
  async readAll(): Promise<Refusal | undefined> {
    const changes = this.store.unreadIds().map((id): Change => ({ id, kind: "read" }));
    return this.ask(changes, () => this.client.readAll(this.store.cursor, this.life.signal));
  }

  /** Loads the notices that were delivered before the first window, and returns how many of them were not here yet. */
  async loadOlder(): Promise<number> {
    const pages: Page[] = [];
    for (let after = ""; ;) {
      const page = await this.client.since(1, after, this.life.signal);
      pages.push(page);
      after = page.cursor;
      if (!page.more || page.notices.some((notice) => this.store.get(notice.id))) {
        break;
      }
    }
    const before = this.store.list().length;
    this.store.apply({ older: pages.flatMap((page) => page.notices) }, Date.now());
    this.host.changed([]);
    return this.store.list().length - before;
  }

  /** The names of types. */
  types(): ReturnType<Client["types"]> {
    return this.client.types(this.life.signal);
  }

  /** Puts a popup off in the other tabs too. */
  later(id: string, until: number): void {
    this.share?.send({ kind: "later", id, until });
  }

  private async run(signal: AbortSignal): Promise<void> {
    const { place } = this.client;
    // The token tells whose notices these are. Without a token this tab waits by itself.
    const token = await this.client.tokens.get().catch(() => undefined);
    if (signal.aborted) {
      return;
    }
    this.user = token === undefined ? "" : identity(token);
    const name = `tallyman:${hash(JSON.stringify([place, this.user, token === undefined && Math.random()]))}`;
    this.share = new Share(
      {
        cursor: () => this.store.cursor,
        loaded: () => this.store.loaded,
        snapshot: () => this.store.snapshot(),
        apply: (batch) => this.host.changed(this.store.apply(batch, Date.now())),
        health: (health) => this.host.health(health),
        marked: (changes) => {
          this.store.settle(changes, true);
          this.host.changed([]);
        },
        later: (id, until) => this.host.later(id, until),
        visible: () => !document.hidden,
        wake: () => this.feed.wake(),
        work: (term) => this.feed.run(term),
      },
      new Leader(name, "BroadcastChannel" in window ? navigator.locks : undefined),
      "BroadcastChannel" in window ? (new BroadcastChannel(name) as Channel) : undefined,
    );
    await this.share.run(signal);
  }

  private async ask(changes: Change[], request: () => Promise<void>): Promise<Refusal | undefined> {
    changes.forEach(({ id, kind }) => this.store.ask(id, kind));
    this.host.changed([]);
    let refusal: Refusal | undefined;
    try {
      await request();
    } catch (thrown) {
      refusal = Refusal.from(thrown, navigator.onLine);
    }
    this.store.settle(changes, !refusal);
    if (!refusal) {
      this.share?.send({ kind: "marked", changes });
    }
    if (!this.life.signal.aborted) {
      this.host.changed([]);
    }
    return refusal;
  }

  /** A renewed token must belong to the same user, because the notices here are for this user alone. */
  private isOf(token: string): void {
    if (this.share && identity(token) !== this.user) {
      this.host.otherUser(token);
    }
  }
}
