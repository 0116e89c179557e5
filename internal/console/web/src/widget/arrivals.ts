import type { Notice } from "./types";

/** Notices that arrive within this time are announced together, in ms. */
const breath = 1000;

/** Collects the notices that arrive in a burst, so that a screen reader announces them once. */
export class Arrivals {
  private waiting: Notice[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly announce: (notices: Notice[]) => void) {}

  add(notices: readonly Notice[]): void {
    this.waiting.push(...notices);
    if (this.waiting.length > 0) {
      this.timer ??= setTimeout(() => {
        const { waiting } = this;
        this.stop();
        this.announce(waiting);
      }, breath);
    }
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.waiting = [];
  }
}
