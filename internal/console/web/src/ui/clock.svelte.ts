import { live } from "../api/live.svelte";

/** The time that relative times are told from: one timer for the whole page, only while somebody looks. */
class Clock {
  #browser = $state(Date.now());

  constructor() {
    setInterval(() => {
      if (!document.hidden) this.#browser = Date.now();
    }, 1_000);
    document.addEventListener("visibilitychange", () => (this.#browser = Date.now()));
  }

  /** The time of rules, findings, notices and deliveries. */
  get now(): number {
    return this.#browser + live.skew;
  }

  /** The time of the server's machine: of queues, breakers and tokens. */
  get machine(): number {
    return this.#browser + live.machineSkew;
  }
}

export const clock = new Clock();
