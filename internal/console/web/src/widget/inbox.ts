import { absolute, relative } from "../lib/moment";
import type { Locale, Values } from "../lib/text";
import { Arrivals } from "./arrivals";
import { type Card, cardsOf, noticesOf } from "./cards";
import { Connection, type ConnectionHost } from "./connection";
import { laterAfter, Popups } from "./popups";
import type { Refusal } from "./refusal";
import type { Health } from "./share";
import type { Count, Entry } from "./store";
import { type Key, localeOf, text } from "./text";
import type { TokenProvider } from "./tokens";
import type { Mark, Notice, NoticeType, Place, Trouble } from "./types";

/** The settings of the element. */
export interface Settings {
  place: Place;
  provider: TokenProvider;
  /** The page's language. */
  language: string;
}

/** The callbacks to the element that shows the inbox. */
export interface InboxHost {
  /** Something has changed. */
  draw(): void;
  notice(notice: Notice): void;
  /** The user has chosen a notice; true: the widget is to unfold it. */
  open(notice: Notice): boolean;
  unread(count: Count): void;
}

/** How many notices are drawn at first, and how many more each time the user asks for older ones. */
const pageSize = 50;
const nothing: Count = { unread: 0, more: false, urgent: 0 };
const connecting: Health = { status: "connecting", heardAt: 0, detail: "" };

/** The state of the widget, and the operations of the user. */
export class Inbox {
  locale: Locale = "en";
  open = false;
  health = connecting;
  now = Date.now();
  filter = { unread: false, urgent: false, type: "" };
  /** The notice that the keyboard is at. */
  current = "";
  older: "maybe" | "loading" | "none" = "maybe";
  /** What the server has refused, in words; empty = nothing. */
  failure = "";
  /** The text for a screen reader. */
  announcement = "";
  /** The user was asked whether everything is to be marked. */
  asking = false;

  private connection: Connection | undefined;
  private popups = new Popups();
  private types: ReadonlyMap<string, NoticeType> = new Map();
  /** The connection whose types are loading or loaded. */
  private naming: Connection | undefined;
  private expanded = new Set<string>();
  /** Notices that come after this place are held back while the user reads. */
  private shownUpTo = Infinity;
  private limit = pageSize;
  private clock: ReturnType<typeof setInterval> | undefined;
  private told = JSON.stringify(nothing);
  private readonly arrivals = new Arrivals((arrived) => {
    const [first] = arrived;
    const count = arrived.length;
    const words =
      count === 1 && first
        ? this.text("arrivedOne", { title: first.title })
        : this.text("arrivedMany", { count });
    this.update({ announcement: words });
  });

  constructor(private readonly host: InboxHost) {}

  /** Changes fields of the inbox, and draws it again. */
  update(change: Partial<Inbox>): void {
    Object.assign(this, change);
    this.host.draw();
  }

  /**
   * Connects with these settings and begins without notices, because the earlier ones may belong to another user.
   * token: the token that the provider has just given, if there is one.
   */
  connect(settings: Settings, token?: string): void {
    this.stop();
    this.filter = { unread: false, urgent: false, type: "" };
    this.popups = new Popups();
    this.types = new Map();
    this.limit = pageSize;
    this.shownUpTo = Infinity;
    const host: ConnectionHost = {
      changed: (arrived) => this.changed(arrived),
      health: (health) => this.update({ health }),
      later: (id, until) => this.putOff(id, until),
      otherUser: (given) => this.connect(settings, given),
    };
    const connection = new Connection(settings.place, settings.provider, host, token);
    this.connection = connection;
    connection.start();
    this.tick();
    this.expanded.clear();
    this.update({
      locale: localeOf(settings.language),
      health: connecting,
      failure: "",
      older: "maybe",
      current: "",
      announcement: "",
      asking: false,
    });
    this.changed([]);
  }

  /** Ends everything that goes on in the background. */
  stop(): void {
    this.connection?.stop();
    this.connection = undefined;
    clearInterval(this.clock);
    this.arrivals.stop();
  }

  retry(): void {
    this.connection?.retry();
  }

  show(): void {
    this.shownUpTo = Infinity;
    this.limit = pageSize;
    this.update({ open: true });
    this.tick();
    this.nameTypes();
  }

  hide(): void {
    this.update({ open: false, failure: "", asking: false });
    this.tick();
  }

  /** All notices, the latest first. */
  get entries(): Entry[] {
    return this.connection?.store.list().reverse() ?? [];
  }

  get count(): Count {
    return this.connection?.store.counts() ?? nothing;
  }

  get loaded(): boolean {
    return !!this.connection?.store.loaded;
  }

  get popup(): ReturnType<Popups["next"]> {
    return this.connection && this.popups.next(this.connection.store, this.now);
  }

  get trouble(): Trouble | undefined {
    const { status } = this.health;
    return status === "connecting" || status === "live" || status === "polling" ? undefined : status;
  }

  get filtering(): boolean {
    return this.filter.unread || this.filter.urgent || this.filter.type !== "";
  }

  /**
   * Returns the cards that are drawn, the number of cards in the list, the number of cards that are held back, and the
   * number of all notices.
   */
  list(): { drawn: Card[]; size: number; heldBack: number; all: number } {
    const { entries } = this;
    const passing = (of: readonly Entry[]) => cardsOf(of).filter((card) => this.passes(card));
    const shown = passing(entries.filter((entry) => entry.order <= this.shownUpTo));
    return {
      drawn: shown.slice(0, this.limit),
      size: shown.length,
      heldBack: passing(entries.filter((entry) => entry.order > this.shownUpTo)).length,
      all: entries.length,
    };
  }

  /** Says whether the user reads. While the user reads, new notices are held back, so that nothing moves. */
  reading(on: boolean): void {
    const upTo = on ? Math.min(this.shownUpTo, this.entries[0]?.order ?? -1) : Infinity;
    if (upTo !== this.shownUpTo) {
      this.shownUpTo = upTo;
      this.host.draw();
    }
  }

  isRead(card: Card): boolean {
    return noticesOf(card).every((entry) => this.connection?.store.isRead(entry) ?? true);
  }

  isAcked(entry: Entry): boolean {
    return this.connection?.store.isAcked(entry) ?? true;
  }

  /** Returns whether the finding of the notice is over, or the notice says so. */
  isOver({ notice, resolved }: Entry): boolean {
    return resolved || notice.status === "resolved";
  }

  needsAck(entry: Entry): boolean {
    return !!this.connection?.store.needsAck(entry);
  }

  isExpanded({ entry }: Card): boolean {
    return this.expanded.has(entry.notice.id);
  }

  /**
   * Opens a notice: the page handles it, or else its card unfolds or folds. The notice is marked as read in any case.
   */
  choose(card: Card): void {
    const { entry } = card;
    const { id } = entry.notice;
    if (this.host.open(entry.notice) && !this.expanded.delete(id)) {
      this.expanded.add(id);
    }
    this.update({ current: id });
    this.read(card);
  }

  /** Marks all notices of a card read. */
  read(card: Card): void {
    for (const entry of noticesOf(card)) {
      if (!this.connection?.store.isRead(entry)) {
        void this.mark(entry, "read");
      }
    }
  }

  /** Marks a notice as acked, and so as read, too. */
  ack(entry: Entry): void {
    if (!this.isAcked(entry)) {
      void this.mark(entry, "acked");
    }
  }

  async readAll(): Promise<void> {
    this.answered("readFailed", await this.connection?.readAll());
  }

  /** Closes a popup for a while, here and in the other tabs. */
  later(id: string): void {
    const until = Date.now() + laterAfter;
    this.connection?.later(id, until);
    this.failure = "";
    this.putOff(id, until);
  }

  async showOlder(): Promise<void> {
    if (this.list().size > this.limit) {
      this.limit += pageSize;
      this.host.draw();
      return;
    }
    this.update({ older: "loading" });
    try {
      this.limit += (await this.connection?.loadOlder()) ? pageSize : 0;
      this.update({ older: "none" });
    } catch (thrown) {
      this.update({ older: "maybe", failure: this.text("olderFailed", { why: String(thrown) }) });
    }
  }

  /** There may be notices that are not drawn. */
  get hasOlder(): boolean {
    return this.loaded && !this.filtering && (this.older !== "none" || this.list().size > this.limit);
  }

  /** Returns the types that have notices here, with their names. */
  typesHere(): [code: string, name: string][] {
    const codes = [...new Set(this.entries.map(({ notice }) => notice.type))];
    return codes
      .map((code): [string, string] => [code, this.typeName(code)])
      .sort((a, b) => a[1].localeCompare(b[1]));
  }

  typeName(code: string): string {
    const type = this.types.get(code);
    return type?.names?.[this.locale] ?? type?.name ?? code;
  }

  text(key: Key, values?: Values): string {
    return text(this.locale, key, values);
  }

  ago(moment: number): string {
    return relative(this.locale, Math.min(moment, this.now), this.now);
  }

  fullTime(moment: number): string {
    return absolute(this.locale, moment);
  }

  private async mark({ notice }: Entry, mark: Mark): Promise<void> {
    const key = mark === "read" ? "readFailed" : "ackFailed";
    this.answered(key, await this.connection?.mark(notice.id, mark));
  }

  private passes(card: Card): boolean {
    const { unread, urgent, type } = this.filter;
    const { entry } = card;
    return (
      (!unread || !this.isRead(card) || entry.notice.id === this.current) &&
      (!urgent || !!this.connection?.store.isUrgent(entry)) &&
      (!type || entry.notice.type === type)
    );
  }

  private changed(arrived: Notice[]): void {
    this.now = Date.now();
    this.host.draw();
    if (this.popup) {
      this.nameTypes();
    }
    arrived.forEach((notice) => this.host.notice(notice));
    this.arrivals.add(arrived.filter((notice) => !notice.read));
    const { count } = this;
    if (this.told !== JSON.stringify(count)) {
      this.told = JSON.stringify(count);
      this.host.unread(count);
    }
  }

  private answered(key: Key, refusal: Refusal | undefined): void {
    const why = refusal && (refusal.status ? refusal.message : this.text("noAnswer"));
    this.update({ failure: why ? this.text(key, { why }) : "" });
  }

  private putOff(id: string, until: number): void {
    this.popups.putOff(id, until);
    this.host.draw();
  }

  /** Loads the names of types when the widget shows a type for the first time. */
  private nameTypes(): void {
    const { connection } = this;
    if (this.types.size > 0 || this.naming === connection) {
      return;
    }
    this.naming = connection;
    connection
      ?.types()
      .then((types) => {
        this.types = new Map(types.map((type) => [type.code, type]));
        this.host.draw();
      })
      .catch(() => (this.naming = undefined)); // the widget shows the codes instead
  }

  /**
   * Starts the timer: every second while the window is open, for the times on it. Otherwise every five seconds, for
   * notices that expire and popups that come again.
   */
  private tick(): void {
    clearInterval(this.clock);
    this.clock = setInterval(
      () => {
        this.update({ now: Date.now() });
        if (this.connection?.store.expire(this.now)) {
          this.changed([]);
        }
      },
      this.open ? 1000 : 5000,
    );
    this.update({ now: Date.now() });
  }
}
