import { searchParams } from "sv-router";

/** What the address says after its question mark: filters live there, so that an address can be passed on. */
export const query = {
  /** The value of a name; empty where there is none. Whoever reads it in an effect follows it. */
  get(name: string): string {
    return searchParams.toURLSearchParams().get(name) ?? "";
  },
  /** Sets values, or takes those that are empty away, without a step in the browser's history. */
  set(values: Readonly<Record<string, string>>): void {
    for (const [name, value] of Object.entries(values)) {
      if (value) searchParams.set(name, value, { replace: true });
      else searchParams.delete(name, undefined, { replace: true });
    }
  },
};
