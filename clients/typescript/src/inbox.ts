import { dataOf, WAIT_S, within, type Client } from "./client.js";
import { insist } from "./pause.js";
import { ProblemError } from "./problem.js";
import type { components } from "./schema.js";
import { REMEMBER_MS, type Store } from "./store.js";

/** A notice as an inbox has it. */
export type Notice = components["schemas"]["Notice"];
/** Tells that the user has read or acked a notice, perhaps in another window. */
export type Change = components["schemas"]["NoticeChange"];
type Page = components["schemas"]["Notices"];

/** Says why a cursor does not hold any more. */
export interface Reset {
  /** Such as index_rebuilt; docs/reference/api.md lists them. bad_cursor: the service does not know the cursor of the store. */
  reason: string;
  /** How many notices were delivered after the cursor and will not come any more; undefined: nobody knows. */
  missed: number | undefined;
}

export interface InboxOptions {
  /** Keeps the place. FileStore is one. */
  store: Store;
  /** May be left out where the token has one warehouse. */
  warehouse?: string;
  /** Such as user:1 and role:keeper. By default those of the token. */
  subscribers?: string[];
  /** Only notices of these types. By default all. */
  types?: string[];
  /** Of titles and bodies, as Accept-Language has it. */
  language?: string;
  /**
   * Hears that the cursor did not hold any more, before the notices of the last three days come again. Those that were handled are left out. By default a warning
   * on the console. An error ends follow.
   */
  onReset?: (reset: Reset) => void | Promise<void>;
  /** Hears what became of notices that came before. An error ends follow. */
  onChange?: (change: Change) => void | Promise<void>;
  /** Hears of tries that failed. By default a warning on the console. */
  onRetry?: (error: unknown, pauseMs: number) => void;
}

/** The inboxes of some subscribers in one warehouse, which a program follows. */
export class Inbox {
  constructor(
    private readonly client: Client,
    private readonly options: InboxOptions,
  ) {}

  /**
   * Hands each notice to the handler, one after the other, until the signal ends. It saves the cursor after the handler has ended without an error. So only a process
   * that is killed between the two gets a notice again.
   *
   * Failed polls are tried again, with pauses that grow or that the service asks for. follow throws what it cannot get past: a refusal of the service (a ProblemError),
   * or an error of the handler or of the store. A later follow goes on with the same notice.
   */
  async follow(handle: (notice: Notice, signal: AbortSignal) => void | Promise<void>, { signal = new AbortController().signal } = {}): Promise<void> {
    const place = await this.options.store.load();
    const follower = new Follower(this.client, this.options, handle, signal, place.cursor, place.handled);
    while (!signal.aborted) {
      try {
        await follower.turn();
      } catch (error) {
        if (!(signal.aborted && isAbort(error))) throw error;
      }
    }
  }
}

/** Tells whether the error says no more than that a signal has ended. */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}

/** One run of follow. */
class Follower {
  private etag: string | undefined;
  private readonly handled: Map<string, number>;
  private pruned = Date.now();

  constructor(
    private readonly client: Client,
    private readonly options: InboxOptions,
    private readonly handle: (notice: Notice, signal: AbortSignal) => void | Promise<void>,
    private readonly signal: AbortSignal,
    private cursor: string,
    handled: string[],
  ) {
    this.handled = new Map(handled.map((id) => [id, this.pruned]));
  }

  /** Polls once and deals with the page. */
  async turn(): Promise<void> {
    let page: Page | undefined;
    try {
      page = await insist(this.signal, this.warn, () => this.poll());
    } catch (error) {
      if (this.signal.aborted) return;
      if (!(error instanceof ProblemError && error.code === "bad_cursor" && this.cursor)) throw error;
      this.cursor = "";
      this.etag = undefined;
      return this.reset({ reason: error.code, missed: undefined });
    }
    if (page) await this.take(page);
  }

  /** Asks once. There is no page where nothing is new. */
  private async poll(): Promise<Page | undefined> {
    const { warehouse, subscribers, types, language } = this.options;
    const answer = await this.client.api.GET("/api/v1/notices", {
      params: {
        query: {
          wait: `${WAIT_S}s`,
          ...(warehouse && { warehouse }),
          ...(subscribers && { subscriber: subscribers }),
          ...(types && { type: types }),
          ...(this.cursor && { after: this.cursor }),
        },
        header: { ...(this.etag && { "If-None-Match": this.etag }), ...(language && { "Accept-Language": language }) },
      },
      signal: within(this.signal, WAIT_S),
    });
    if (answer.response.status === 304) return undefined;
    const page = dataOf(answer);
    this.etag = answer.response.headers.get("ETag") ?? undefined;
    return page;
  }

  /** Deals with a page. The cursor is saved with its last notice. */
  private async take(page: Page): Promise<void> {
    if (page.reset) await this.reset({ reason: page.resetReason ?? "", missed: page.missed });
    for (const change of page.changes) await this.options.onChange?.(change);
    const fresh = page.notices.filter(({ id }) => !this.handled.has(id));
    for (const [index, notice] of fresh.entries()) {
      if (this.signal.aborted) return;
      await this.handle(notice, this.signal);
      if (index === fresh.length - 1) this.cursor = page.cursor;
      this.remember(notice.id);
      await this.options.store.save({ cursor: this.cursor, handled: notice.id });
    }
    if (this.cursor === page.cursor) return;
    this.cursor = page.cursor;
    await this.options.store.save({ cursor: this.cursor });
  }

  private remember(id: string): void {
    const now = Date.now();
    this.handled.set(id, now);
    if (now - this.pruned < 3600_000) return;
    this.pruned = now;
    for (const [id, at] of this.handled) {
      if (now - at > REMEMBER_MS) this.handled.delete(id);
    }
  }

  private async reset(reset: Reset): Promise<void> {
    if (this.options.onReset) return this.options.onReset(reset);
    console.warn(
      `tallyman: the cursor did not hold any more (${reset.reason}, missed: ${reset.missed ?? "unknown"}); the notices of the last three days come again, without those that were handled`,
    );
  }

  private readonly warn = (error: unknown, pauseMs: number): void => {
    if (this.options.onRetry) return this.options.onRetry(error, pauseMs);
    console.warn(`tallyman: a poll failed: ${error}; next try in ${Math.round(pauseMs)} ms. The cursor stays, and nothing is lost`);
  };
}
