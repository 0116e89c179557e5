import type { EventSourceMessage } from "eventsource-parser";
import { Backoff, pause } from "../lib/backoff";
import { readEvents } from "../lib/sse";
import type { Schemas } from "./client";
import { Failure } from "./failure";
import { session } from "./session.svelte";

/**
 * connecting: the first attempt is not over. live: events come. retrying: the stream has ended or failed, and another
 * attempt follows. timed: the token may not see the overview, so pages load again from time to time.
 */
export type LiveState = "connecting" | "live" | "retrying" | "timed";

/** A connection on which nothing comes for this time counts as dead, in ms. The server sends something every 15 s. */
const silence = 40_000;
const shortest = 1_000;
const longest = 30_000;
/** How often pages load again if there is no stream, in ms. */
const timed = 10_000;

/**
 * The overview, as the server streams it. Pages that show a part of the overview read `overview`. Pages that show more
 * load again when `tick` changes.
 */
class Live {
  overview = $state.raw<Schemas["Overview"]>();
  state = $state<LiveState>("connecting");
  tick = $state(0);
  /**
   * The time of rules in the last event, and the browser's time when the event came, in ms. Undefined before the first
   * event.
   */
  seen = $state.raw<{ rules: number; browser: number }>();

  #running: AbortController | undefined;

  /** Follows the stream until stop. A second start does nothing. */
  start(): void {
    if (this.#running) return;
    this.#running = new AbortController();
    void this.#follow(this.#running.signal);
  }

  stop(): void {
    this.#running?.abort();
    this.#running = undefined;
    this.overview = undefined;
    this.seen = undefined;
    this.state = "connecting";
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(shortest, longest);
    while (!signal.aborted) {
      const { token } = session;
      try {
        await readEvents(await this.#open(signal), {
          silence,
          onEvents: (events) => {
            backoff.reset();
            this.#take(events);
          },
        });
      } catch (thrown) {
        const { kind } = Failure.from(thrown);
        if (kind === "unauthorised") session.refused(token);
        if (kind === "forbidden") return this.#count(signal);
      }
      if (signal.aborted) return;
      this.state = "retrying";
      await rest(backoff.next(), signal);
    }
  }

  /** Changes the tick from time to time, if the token may not see the overview. */
  async #count(signal: AbortSignal): Promise<void> {
    this.state = "timed";
    for (await rest(timed, signal); !signal.aborted; await rest(timed, signal)) this.tick++;
  }

  /** Begins the stream. */
  async #open(signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), silence);
    const response = await fetch("/api/v1/overview/stream", {
      headers: session.token ? { Authorization: `Bearer ${session.token}` } : {},
      signal: AbortSignal.any([signal, late.signal]),
    }).finally(() => clearTimeout(timer));
    if (!response.ok || !response.body) throw await Failure.of(response);
    return response.body;
  }

  /** Takes over the last event. Each event has the whole state. */
  #take(events: EventSourceMessage[]): void {
    const event = events.filter((each) => each.event === "overview").at(-1);
    if (!event) return;
    this.overview = JSON.parse(event.data) as Schemas["Overview"];
    this.seen = { rules: Date.parse(this.overview.at), browser: Date.now() };
    this.state = "live";
    this.tick++;
  }
}

/** Waits, but not longer than until the network is back. */
async function rest(milliseconds: number, signal: AbortSignal): Promise<void> {
  const waiting = new AbortController();
  const end = () => waiting.abort();
  signal.addEventListener("abort", end, { signal: waiting.signal });
  window.addEventListener("online", end, { signal: waiting.signal });
  await pause(milliseconds, waiting.signal);
  end(); // removes the listeners
}

export const live = new Live();
