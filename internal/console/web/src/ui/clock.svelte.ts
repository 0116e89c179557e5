import { live } from "../api/live.svelte";

/** The server's time, which relative times are told from: one timer for the whole page, only while somebody looks. */
class Clock {
  #browser = $state(Date.now());

  constructor() {
    setInterval(() => {
      if (!document.hidden) this.#browser = Date.now();
    }, 1_000);
    document.addEventListener("visibilitychange", () => (this.#browser = Date.now()));
  }

  get now(): number {
    return this.#browser + live.skew;
  }
}

export const clock = new Clock();
