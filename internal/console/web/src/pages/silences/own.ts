import type { Schemas } from "../../api/client";
import { session } from "../../api/session.svelte";
import { parse } from "./matcher";

/**
 * Returns whether the user may end the silence. A user without all warehouses may end the silences that name one of the
 * user's warehouses.
 */
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
