import { searchParams } from "sv-router";

/** The parameters of the address. Filters are in the address, so that readers can share it. */
export const query = {
  /**
   * Returns the value of a parameter; empty without one. An effect that reads a parameter runs again when the parameter
   * changes.
   */
  get(name: string): string {
    return searchParams.toURLSearchParams().get(name) ?? "";
  },
  /** Sets parameters, and removes parameters with an empty value. This makes no new entry in the browser's history. */
  set(values: Readonly<Record<string, string>>): void {
    for (const [name, value] of Object.entries(values)) {
      if (value) searchParams.set(name, value, { replace: true });
      else searchParams.delete(name, undefined, { replace: true });
    }
  },
};
