import type { components } from "./schema.js";

export type Op = components["schemas"]["Op"];

/** An outcome other than done, which a handler returns. */
export type Outcome = Pick<Op, "op" | "note" | "delay" | "worker">;

/** The reason with which a handler's signal ends when the lease is lost. Another worker may have the item then. */
export class LeaseLost extends Error {
  constructor() {
    super("the lease of the item was lost");
    this.name = "LeaseLost";
  }
}

/** The item has failed. It is ready again after the delay, or dead after max_attempts. An error that a handler throws does the same without a delay. */
export function failAfter(delayMs: number, note: string): Outcome {
  return { op: "nack", delay: seconds(delayMs), note };
}

/** Puts the item back to its place in the queue. This does not count as a failure. */
export function giveBack(note: string): Outcome {
  return { op: "release", note };
}

/** Suspends the item for the next of the queue's suspend_steps. If all steps are used, the item has failed. */
export function suspend(note: string): Outcome {
  return { op: "suspend", note };
}

/** Stores the item for a time. */
export function storeFor(ms: number, note: string): Outcome {
  return { op: "store", delay: seconds(ms), note };
}

/** Assigns the item to one worker: <subject>/<worker>, or to all workers of a <subject>. */
export function passTo(worker: string, note: string): Outcome {
  return { op: "assign", worker, note };
}

/** Formats a duration for the API. */
export function seconds(ms: number): string {
  return `${ms / 1000}s`;
}

/** Makes a valid note: no control characters, and not too long. */
export function clean(note: string): string {
  return [...note.replace(/[^\P{Cc}\n\t]|\p{Bidi_Control}|\p{Cs}/gu, " ")].slice(0, 160).join("");
}
