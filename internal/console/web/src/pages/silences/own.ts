import type { Schemas } from "../../api/client";
import { session } from "../../api/session.svelte";
import { parse } from "./matcher";

/** Whether the silence is the caller's to end: who does not see all warehouses may end those that name one of his. */
export function mine(silence: Schemas["Silence"]): boolean {
  if (session.everywhere) return true;
  return silence.matchers.some((text) => {
    const matcher = parse(text);
    return (
      matcher?.name === "warehouse" &&
      matcher.op === "=" &&
      (session.me?.warehouses.includes(matcher.value) ?? false)
    );
  });
}
