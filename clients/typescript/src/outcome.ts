import type { components } from "./schema.js";

export type Op = components["schemas"]["Op"];

/** What becomes of an item that is neither done nor failed: what a handler returns. */
export type Outcome = Pick<Op, "op" | "note" | "delay" | "worker">;

/** The reason with which the signal of a handler ends when the item is not this worker's any more, so that another may have it. */
export class LeaseLost extends Error {
  constructor() {
    super("the lease of the item was lost");
    this.name = "LeaseLost";
  }
}

/** The item has failed: it is ready again after the delay, or dead after max_attempts. An error that a handler throws does the same without a delay. */
export function failAfter(delayMs: number, note: string): Outcome {
  return { op: "nack", delay: seconds(delayMs), note };
}

/** Puts the item back to its place in the queue. That is no failure. */
export function giveBack(note: string): Outcome {
  return { op: "release", note };
}

/** Puts the item off by the next of the queue's suspend_steps. Where it was suspended too often it has failed. */
export function suspend(note: string): Outcome {
  return { op: "suspend", note };
}

/** Puts the item away for a time. */
export function storeFor(ms: number, note: string): Outcome {
  return { op: "store", delay: seconds(ms), note };
}

/** Gives the item to one worker alone: <subject>/<worker>, or <subject> for all its workers. */
export function passTo(worker: string, note: string): Outcome {
  return { op: "assign", worker, note };
}

/** Writes a duration as the API reads it. */
export function seconds(ms: number): string {
  return `${ms / 1000}s`;
}

/** Makes a text fit to be a note: no control characters, and not too long. */
export function clean(note: string): string {
  return [...note.replace(/[^\P{Cc}\n\t]|\p{Bidi_Control}|\p{Cs}/gu, " ")].slice(0, 160).join("");
}
