import { live } from "../api/live.svelte";
import { session } from "../api/session.svelte";
import { brief, relative } from "../lib/moment";
import { preferences } from "../lib/preferences.svelte";
import { machineAt, rulesAt, shownMachine, type Moment } from "../lib/clocks";

/** The time that relative times are told from: one timer for the whole page, only while somebody looks. */
class Clock {
  #browser = $state(Date.now());

  constructor() {
    setInterval(() => {
      if (!document.hidden) this.#browser = Date.now();
    }, 1_000);
    document.addEventListener("visibilitychange", () => (this.#browser = Date.now()));
  }

  /** The moment at which the server has told who we are. */
  get #told(): Moment {
    const { me, asked } = session;
    if (!me) return { rules: asked, machine: asked, browser: asked, rate: 1 };
    const { at, machine, rate } = me.clock;
    return { rules: Date.parse(at), machine: Date.parse(machine), browser: asked, rate };
  }

  /** How many times as fast as the world's the clock of rules runs: 1, but for the demo. */
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

  /** A time of rules as it is told inside a sentence: how long ago, or date and time, as the reader likes. */
  told(at: string): string {
    const tell = preferences.times === "absolute" ? brief : relative;
    return tell(preferences.locale, Date.parse(at), this.now);
  }

  /** A time as it is shown, and what it is from now; both in ms. A time of the machine is told by the clock of rules where that runs faster. */
  shown(at: number, machine = false): { at: number; now: number } {
    if (!machine) return { at, now: this.now };
    return { at: shownMachine(this.#told, at), now: this.rate === 1 ? this.machine : this.now };
  }
}

export const clock = new Clock();
