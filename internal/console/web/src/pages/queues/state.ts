import { searchParams } from "sv-router";
import { route } from "../../shell/routes";

/**
 * Returns a function that reads a part of the page's address. The part keeps its last value while the user leaves the
 * page.
 */
export function part(name: "queue" | "id"): () => string {
  let last = "";
  return () => (last = route.params[name] || last);
}

/** Returns whether the address asks for the test twins. */
export function isTwin(): boolean {
  return searchParams.toURLSearchParams().get("test") === "true";
}

export function showTwin(test: boolean): void {
  if (test) searchParams.set("test", "true");
  else searchParams.delete("test");
}
