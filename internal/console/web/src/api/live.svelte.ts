import { EventSourceParserStream } from "eventsource-parser/stream";
import type { Schemas } from "./client";
import { Failure } from "./failure";
import { session } from "./session.svelte";

/**
 * connecting: for the first time. live: events come. retrying: they came before, or cannot. timed: the token may not see
 * the overview, so pages look again from time to time.
 */
export type LiveState = "connecting" | "live" | "retrying" | "timed";

/** The server sends something every 15 s; a connection that is silent for longer than this is dead. */
const silence = 40_000;
const shortest = 1_000;
const longest = 30_000;
const timed = 10_000;

/**
 * The state of the whole, as the server streams it. Pages that show a part of it read `overview`; those that show more
 * load again when `tick` moves.
 */
class Live {
  overview = $state.raw<Schemas["Overview"]>();
  state = $state<LiveState>("connecting");
  tick = $state(0);
  /** By how many milliseconds the clock that rules go by is ahead of the browser's. */
  skew = $state(0);
  /** The same of the server's machine, which queues, breakers and tokens go by. It is another one where the ledger has a clock of its own. */
  machineSkew = $state(0);

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
    this.state = "connecting";
  }

  async #follow(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      const { token } = session;
      try {
        await this.#connect(signal, () => (failures = 0));
      } catch (thrown) {
        const { kind } = Failure.from(thrown);
        if (kind === "unauthorised") session.refused(token);
        if (kind === "forbidden") return this.#count(signal);
      }
      if (signal.aborted) return;
      this.state = "retrying";
      const bound = Math.min(longest, shortest * 2 ** Math.min(failures++, 5));
      await pause(bound / 2 + (Math.random() * bound) / 2, signal);
    }
  }

  /** Moves the tick from time to time, for those who may not see the overview. */
  async #count(signal: AbortSignal): Promise<void> {
    this.state = "timed";
    for (await pause(timed, signal); !signal.aborted; await pause(timed, signal)) this.tick++;
  }

  async #connect(signal: AbortSignal, heard: () => void): Promise<void> {
    const connection = new AbortController();
    const end = () => connection.abort();
    signal.addEventListener("abort", end);
    let timer = setTimeout(end, silence);
    const alive = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, out) {
        clearTimeout(timer);
        timer = setTimeout(end, silence);
        out.enqueue(chunk);
      },
    });
    try {
      const response = await fetch("/api/v1/overview/stream", {
        headers: session.token ? { Authorization: `Bearer ${session.token}` } : {},
        signal: connection.signal,
      });
      if (!response.ok || !response.body) throw await Failure.of(response);
      const date = Date.parse(response.headers.get("Date") ?? "");
      if (!Number.isNaN(date)) this.machineSkew = date + 500 - Date.now(); // it has whole seconds
      const events = response.body
        .pipeThrough(alive)
        .pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>)
        .pipeThrough(new EventSourceParserStream())
        .getReader();
      for (let next = await events.read(); !next.done; next = await events.read()) {
        if (next.value.event !== "overview") continue;
        heard();
        this.overview = JSON.parse(next.value.data) as Schemas["Overview"];
        this.skew = Date.parse(this.overview.at) - Date.now();
        this.state = "live";
        this.tick++;
      }
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      connection.abort();
    }
  }
}

/** Waits, though not after the network is back. */
function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      window.removeEventListener("online", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal.addEventListener("abort", end);
    window.addEventListener("online", end);
  });
}

export const live = new Live();
