import type { Schemas } from "../../../api/client";
import type { Answer } from "../../../ui/actions.svelte";
import type { Switch } from "../model";

/**
 * Returns the request of a switch: for the duration in the answer, or until the time in it. "tomorrow" is 8 a.m. of the
 * reader's next day.
 */
export function askOf(answer: Answer, now: Date): Schemas["SwitchAsk"] {
  const ask: Schemas["SwitchAsk"] = {};
  if (answer.reason) ask.reason = answer.reason;
  if (answer.until === "tomorrow") ask.until = tomorrow(now).toISOString();
  else if (answer.until.includes("T")) ask.until = answer.until;
  else if (answer.until) ask.for = answer.until;
  return ask;
}

/** Returns the request that restores an earlier switch; undefined if the switch would have ended by now. */
export function again(earlier: Switch, now: Date): Schemas["SwitchAsk"] | undefined {
  if (earlier.until && Date.parse(earlier.until) <= now.getTime()) return undefined;
  const ask: Schemas["SwitchAsk"] = {};
  if (earlier.reason) ask.reason = earlier.reason;
  if (earlier.until) ask.until = earlier.until;
  return ask;
}

function tomorrow(now: Date): Date {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1, 8);
}
