/** One moment on both clocks of the server and on the browser's clock, in ms. */
export interface Moment {
  /** By the clock of rules, findings, notices and deliveries. */
  rules: number;
  /** By the clock of the machine, which queues, breakers and tokens use. */
  machine: number;
  browser: number;
  /** How many times as fast as the other clocks the clock of rules runs: 1 except in the demo. */
  rate: number;
}

/** Returns the time of rules when the browser's clock shows `at`. */
export function rulesAt({ rules, browser, rate }: Moment, at: number): number {
  return rules + (at - browser) * rate;
}

/** Returns the time of the machine when the browser's clock shows `at`. */
export function machineAt({ machine, browser }: Moment, at: number): number {
  return machine + at - browser;
}

/**
 * Converts a time of the machine to the time that pages show. If the clock of rules runs faster, pages show its time
 * only, so that a page has one time and one date.
 */
export function shownMachine({ rules, machine, rate }: Moment, at: number): number {
  return rate === 1 ? at : rules + (at - machine) * rate;
}

/**
 * Returns the moment that a page takes as now when it shows how long ago `at` was. A page reads the clock once a second.
 * Until then the clock of rules has moved on by its rate, and by more while the machine is busy. Without nowFor, an
 * event of just now would lie in the future.
 */
export function nowFor(at: number, now: number, rate: number): number {
  return at > now && at - now < rate * 3_000 ? at : now;
}
