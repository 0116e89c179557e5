import { searchParams } from "sv-router";
import { route } from "../../shell/routes";

/** A part of the page's address. It keeps its last value while the page is left. */
export function part(name: "queue" | "id"): () => string {
  let last = "";
  return () => (last = route.params[name] || last);
}

/** Whether the test twins are shown, as the address says. */
export function isTwin(): boolean {
  return searchParams.toURLSearchParams().get("test") === "true";
}

export function showTwin(test: boolean): void {
  if (test) searchParams.set("test", "true");
  else searchParams.delete("test");
}
