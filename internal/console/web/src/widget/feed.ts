import { readEvents, SilentStream } from "../lib/sse";
import { Backoff, pause } from "../lib/backoff";
import { batchOf, ofPage } from "./batches";
import type { Client } from "./client";
import { Refusal } from "./refusal";
import type { Batch, Status, Trouble } from "./types";

/** The state that a feed reads, and the callbacks of the feed. */
export interface FeedHost {
  /** The cursor to go on from; empty: from the beginning. */
  cursor(): string;
  loaded(): boolean;
  /** Popups are needed that the feed has not loaded yet. */
  lacksPopups(): boolean;
  take(batch: Batch): void;
  /** Reports the status. heard: the server has just sent something. */
  report(status: Status, heard: boolean, detail?: string): void;
  online(): boolean;
  /** Nobody looks at this tab, and no other tab needs the notices of this tab. */
  idle(): boolean;
}

/** A stream that is silent for this time counts as dead, in ms. The server sends something every 15 s. */
const silence = 45_000;
/** A stream without a first byte after this time is held up by something in between, in ms. */
const firstByte = 20_000;
/** How long the server may hold a poll back, in s. */
const wait = 25;
const pollTimeout = 45_000;
/** How long polls replace blocked streams the first time, in ms. */
const firstDetour = 15_000;
const longestDetour = 900_000;
/** How often a tab polls, in ms, if nobody looks at it and it works for itself. */
const idlePause = 60_000;

/**
 * Gets notices from the server: the first window by polls, then a stream, or polls if streams are blocked. After every
 * failure the feed goes on from the cursor, until its signal ends or the server refuses this user.
 */
export class Feed {
  private readonly backoff = new Backoff(1000, 30_000);
  private retry = 1000;
  private tag = "";
  private taggedCursor = "";
  private detourUntil = 0;
  private detours = 0;
  private polled = false;
  private asking = false;
  private step = new AbortController();

  constructor(
    private readonly client: Client,
    private readonly host: FeedHost,
  ) {}

  /** Ends the current wait or request, so that the feed goes on at once: something about this page has changed. */
  wake(): void {
    this.step.abort();
  }

  /** Works until the signal ends. Throws a Refusal if the server refuses this user. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.step = new AbortController();
      const end = () => this.step.abort();
      signal.addEventListener("abort", end);
      try {
        await this.turn(this.step.signal);
      } catch (thrown) {
        if (!this.step.signal.aborted) {
          await this.failed(Refusal.from(thrown, this.host.online()));
        }
      } finally {
        signal.removeEventListener("abort", end);
      }
    }
  }

  private async turn(signal: AbortSignal): Promise<void> {
    if (!this.host.online()) {
      this.host.report("offline", false);
      await pause(2 ** 31 - 1, signal); // the browser wakes the feed when the network is back
    } else if (!this.host.loaded()) {
      await this.load(signal);
    } else if (Date.now() < this.detourUntil || this.host.idle()) {
      await this.poll(signal);
    } else {
      await this.stream(signal);
    }
  }

  /** Loads the first window: the notices of the last days, and older popups. */
  private async load(signal: AbortSignal): Promise<void> {
    let cursor = "";
    for (let more = true; more;) {
      const { page, tag } = await this.client.poll(cursor, "", 0, signal);
      if (!page) {
        throw new Refusal("error", "304 without an If-None-Match", 304);
      }
      this.host.take({ ...ofPage(page), reset: cursor === "" });
      cursor = page.cursor;
      more = page.more;
      this.keepTag(tag, cursor);
    }
    this.host.take({ ...(await this.popups(signal)), loaded: true });
    this.backoff.reset();
    this.host.report("connecting", true);
  }

  /**
   * Asks for the open popups, the oldest first. If there are more popups, the feed asks for them when few of these are
   * left.
   */
  private async popups(signal: AbortSignal): Promise<Batch> {
    const { popups, popupsMore } = await this.client.summary(signal);
    return { older: popups, popupsMore: !!popupsMore };
  }

  /** Passes a batch on, and asks for more popups if there is room for them. */
  private take(batch: Batch, signal: AbortSignal): void {
    this.host.take(batch);
    if (this.host.lacksPopups() && !this.asking) {
      this.asking = true;
      this.popups(signal)
        .then((popups) => this.host.take(popups))
        .catch(() => undefined) // the next batch asks again
        .finally(() => (this.asking = false));
    }
  }

  private async poll(signal: AbortSignal): Promise<void> {
    const cursor = this.host.cursor();
    const tag = cursor === this.taggedCursor ? this.tag : "";
    const held = this.polled && !this.host.idle() ? wait : 0;
    const began = Date.now();
    const polled = await this.bounded(signal, pollTimeout, (bound) =>
      this.client.poll(cursor, tag, held, bound),
    );
    this.polled = true;
    this.backoff.reset();
    this.keepTag(polled.tag, polled.page?.cursor ?? cursor);
    if (polled.page) {
      this.take(ofPage(polled.page), signal);
    }
    this.host.report("polling", true);
    if (this.host.idle()) {
      await pause(idlePause, signal);
    } else if (!polled.page?.more && held && Date.now() - began < 1000) {
      await pause(1000, signal); // something in between does not let the server wait
    }
  }

  private keepTag(tag: string, cursor: string): void {
    this.tag = tag;
    this.taggedCursor = cursor;
  }

  private async stream(signal: AbortSignal): Promise<void> {
    const line = new AbortController();
    const end = () => line.abort();
    signal.addEventListener("abort", end);
    const timeout = setTimeout(end, firstByte);
    let renewal: ReturnType<typeof setTimeout> | undefined;
    let heard = false;
    try {
      const body = await this.client.stream(this.host.cursor(), line.signal);
      // A stream ends when its token expires, so a new stream begins before that.
      renewal = setTimeout(() => this.wake(), Math.min(this.client.tokens.expiresIn(), 2 ** 31 - 1));
      await readEvents(body, {
        silence,
        onRetry: (milliseconds) => (this.retry = milliseconds),
        onEvents: (events) => {
          clearTimeout(timeout);
          heard = true;
          this.detours = 0;
          this.polled = false;
          this.backoff.reset();
          const { batch, end } = batchOf(events);
          if (batch) {
            this.take(batch, signal);
          }
          this.host.report("live", true);
          if (end) {
            this.ended(end);
          }
        },
      });
      throw new SilentStream("the stream has ended");
    } catch (thrown) {
      await this.broken(thrown, heard, signal);
    } finally {
      clearTimeout(timeout);
      clearTimeout(renewal);
      signal.removeEventListener("abort", end);
      line.abort();
    }
  }

  /** Handles the server's reason for the end of a stream. */
  private ended(reason: string): void {
    if (reason === "revoked" || reason === "expired") {
      this.client.tokens.forget();
      this.retry = 0;
    }
  }

  /** Opens a stream again that broke off. A stream that never began may be blocked. A poll will show that. */
  private async broken(thrown: unknown, heard: boolean, signal: AbortSignal): Promise<void> {
    if (signal.aborted) {
      return;
    }
    if (heard) {
      this.host.report("connecting", false);
      await pause(this.retry, signal);
      return;
    }
    if (thrown instanceof Refusal && !isBlock(thrown)) {
      throw thrown;
    }
    this.detourUntil = Date.now() + Math.min(longestDetour, firstDetour * 4 ** this.detours);
    this.detours++;
    this.polled = false; // the first answer comes without a wait
  }

  private async failed(refusal: Refusal): Promise<void> {
    const { trouble } = refusal;
    if (isRefused(trouble)) {
      throw refusal;
    }
    if (refusal.status === 0 && this.detourUntil > 0) {
      this.detourUntil = 0; // polls do not come through either, so the stream is not the cause
      this.detours = 0;
    }
    if (refusal.code === "bad_cursor") {
      this.host.take({ reset: true, cursor: "" });
    }
    this.host.report(this.host.online() ? trouble : "offline", false, refusal.message);
    await pause(this.backoff.next(refusal.retryAfter), this.step.signal);
  }

  /** Runs a request that must have an answer in time. */
  private async bounded<T>(
    signal: AbortSignal,
    milliseconds: number,
    run: (bound: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const bound = new AbortController();
    const end = () => bound.abort();
    signal.addEventListener("abort", end);
    const timer = setTimeout(end, milliseconds);
    try {
      return await run(bound.signal);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
    }
  }
}

/** Returns whether the server refuses the user. Then it is of no use to ask again at once. */
export function isRefused(trouble: Trouble): boolean {
  return trouble === "unauthorised" || trouble === "forbidden";
}

/**
 * Returns whether an answer says that streams do not come through, or that there are too many streams. Polls may still
 * come through.
 */
function isBlock({ code, status }: Refusal): boolean {
  return (
    code === "no_stream" || code === "too_many_streams" || [404, 405, 406, 501, 502, 504].includes(status)
  );
}
