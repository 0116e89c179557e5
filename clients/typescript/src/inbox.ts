import { dataOf, WAIT_S, within, type Client } from "./client.js";
import { insist } from "./pause.js";
import { ProblemError } from "./problem.js";
import type { components } from "./schema.js";
import { REMEMBER_MS, type Store } from "./store.js";

/** A notice of an inbox. */
export type Notice = components["schemas"]["Notice"];
/** Says that the user has read or acked a notice, perhaps in another window. */
export type Change = components["schemas"]["NoticeChange"];
type Page = components["schemas"]["Notices"];

/** Says why a cursor is no longer valid. */
export interface Reset {
  /** Such as index_rebuilt; docs/reference/api.md lists the reasons. bad_cursor: the service does not know the stored cursor. */
  reason: string;
  /** Number of notices that were delivered after the cursor and will not be sent any more; undefined: unknown. */
  missed: number | undefined;
}

export interface InboxOptions {
  /** Keeps the cursor. FileStore is a store. */
  store: Store;
  /** May be left out if the token has one warehouse. */
  warehouse?: string;
  /** Such as user:1 and role:keeper. By default the subscribers of the token. */
  subscribers?: string[];
  /** Only notices of these types. By default all types. */
  types?: string[];
  /** Language of titles and bodies, as in Accept-Language. */
  language?: string;
  /**
   * Called when the cursor is no longer valid. Then the notices of the last three days come again, without the notices
   * that were handled. By default follow writes a warning to the console. An error ends follow.
   */
  onReset?: (reset: Reset) => void | Promise<void>;
  /** Called for each change of an earlier notice. An error ends follow. */
  onChange?: (change: Change) => void | Promise<void>;
  /** Called for each failed attempt. By default a warning on the console. */
  onRetry?: (error: unknown, pauseMs: number) => void;
}

/** The inboxes of some subscribers in one warehouse. */
export class Inbox {
  constructor(
    private readonly client: Client,
    private readonly options: InboxOptions,
  ) {}

  /**
   * Calls the handler for each notice, one after the other, until the signal ends. follow saves the place after the
   * handler has ended without an error. So a notice comes twice only if the process is killed between the end of the
   * handler and the save.
   *
   * follow repeats failed polls, with growing pauses or the pauses that the service asks for. follow throws an error
   * that a repetition cannot remove: a refusal of the service (a ProblemError), or an error of the handler or the
   * store. A later follow goes on with the same notice.
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

/** Tells whether the error only says that a signal has ended. */
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

  /** Polls, again after temporary errors, and handles the page. */
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

  /** Polls once. The page is undefined if nothing is new. */
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

  /** Handles a page. Saves the cursor of the page together with the last notice. */
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
      `tallyman: the cursor is no longer valid (${reset.reason}, missed: ${reset.missed ?? "unknown"}); the notices of the last three days come again, without the notices that were handled`,
    );
  }

  private readonly warn = (error: unknown, pauseMs: number): void => {
    if (this.options.onRetry) return this.options.onRetry(error, pauseMs);
    console.warn(`tallyman: a poll failed: ${error}; next attempt in ${Math.round(pauseMs)} ms. The cursor stays, and no notice is lost`);
  };
}
