import { setTimeout as pause } from "node:timers/promises";

/** How long a test waits for anything, on a machine that is busy. */
export const patience = 30_000;

/** Asks again and again until the answer is truthy, and returns it. */
export async function until<T>(ask: () => T | Promise<T>, what: string): Promise<NonNullable<T>> {
  const deadline = Date.now() + patience;
  for (;;) {
    const answer = await ask();
    if (answer) {
      return answer;
    }
    if (Date.now() > deadline) {
      throw new Error(`waited in vain for ${what}`);
    }
    await pause(50);
  }
}
