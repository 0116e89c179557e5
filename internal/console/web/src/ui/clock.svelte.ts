import { live } from "../api/live.svelte";
import { session } from "../api/session.svelte";
import { brief, relative } from "../lib/moment";
import { preferences } from "../lib/preferences.svelte";
import { machineAt, nowFor, rulesAt, shownMachine, type Moment } from "../lib/clocks";

/** The clock for relative times. One timer serves the whole page, only while the page is visible. */
class Clock {
  #browser = $state(Date.now());

  constructor() {
    setInterval(() => {
      if (!document.hidden) this.#browser = Date.now();
    }, 1_000);
    document.addEventListener("visibilitychange", () => (this.#browser = Date.now()));
  }

  /** The moment at which the server returned the session's `me`. */
  get #told(): Moment {
    const { me, asked } = session;
    if (!me) return { rules: asked, machine: asked, browser: asked, rate: 1 };
    const { at, machine, rate } = me.clock;
    return { rules: Date.parse(at), machine: Date.parse(machine), browser: asked, rate };
  }

  /** How many times as fast as the world's clock the clock of rules runs: 1 except in the demo. */
  get rate(): number {
    return session.me?.clock.rate ?? 1;
  }

  /** The time of rules, findings, notices and deliveries. */
  get now(): number {
    return rulesAt({ ...this.#told, ...live.seen }, this.#browser);
  }

  /** The time of the server's machine: of queues, breakers and tokens. */
  get machine(): number {
    return machineAt(this.#told, this.#browser);
  }

  /** Writes a time of rules for a sentence: how long ago, or date and time, as the reader prefers. */
  told(at: string): string {
    const tell = preferences.times === "absolute" ? brief : relative;
    const moment = this.shown(Date.parse(at));
    return tell(preferences.locale, moment.at, moment.now);
  }

  /**
   * Returns a time as it is shown, and the `now` from which it is told, in ms. If the clock of rules runs faster, a
   * time of the machine is converted to this clock.
   */
  shown(at: number, machine = false): { at: number; now: number } {
    if (this.rate === 1) return { at, now: machine ? this.machine : this.now };
    const shown = machine ? shownMachine(this.#told, at) : at;
    return { at: shown, now: nowFor(shown, this.now, this.rate) };
  }
}

export const clock = new Clock();
