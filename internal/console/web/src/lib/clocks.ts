/** One moment on both clocks of the server, and on the browser's; all in ms. */
export interface Moment {
  /** By the clock of rules, findings, notices and deliveries. */
  rules: number;
  /** By the machine's, which queues, breakers and tokens go by. */
  machine: number;
  browser: number;
  /** How many times as fast as the others the first runs: 1, but for the demo. */
  rate: number;
}

/** The time of rules when the browser's clock shows that. */
export function rulesAt({ rules, browser, rate }: Moment, at: number): number {
  return rules + (at - browser) * rate;
}

/** The time of the machine when the browser's clock shows that. */
export function machineAt({ machine, browser }: Moment, at: number): number {
  return machine + at - browser;
}

/**
 * A time of the machine as pages show it. Where the clock of rules runs faster, that is its time: a page shows one time, and one date.
 */
export function shownMachine({ rules, machine, rate }: Moment, at: number): number {
  return rate === 1 ? at : rules + (at - machine) * rate;
}

/**
 * The time from which a time is told where the clock of rules runs fast. A page looks at the clock each second, and by then the clock is ahead by its rate, and by more while the machine is busy:
 * what has just happened would lie in the future.
 */
export function nowFor(at: number, now: number, rate: number): number {
  return at > now && at - now < rate * 3_000 ? at : now;
}
