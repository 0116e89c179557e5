import Unloaded from "./Unloaded.svelte";

/** Stands in for a page that could not be loaded: it says so, and tries again. */
export function unloaded(): { default: typeof Unloaded } {
  return { default: Unloaded };
}
