import { store, stored } from "../lib/preferences.svelte";

export type Density = "comfortable" | "compact";

const readHidden = (): Readonly<Record<string, readonly string[]>> => {
  try {
    const saved: unknown = JSON.parse(stored("tallyman.columns") ?? "{}");
    return saved && typeof saved === "object" ? (saved as Record<string, readonly string[]>) : {};
  } catch {
    return {}; // not a value that this page has written
  }
};

/** The reader's preferences for tables. The browser keeps them. */
class Tables {
  density = $state<Density>(stored("tallyman.density") === "compact" ? "compact" : "comfortable");
  #hidden = $state.raw(readHidden());

  setDensity(density: Density): void {
    this.density = density;
    store("tallyman.density", density);
  }

  /** Returns whether the user has taken the column out of the table. */
  isHidden(table: string, column: string): boolean {
    const hidden = this.#hidden[table];
    return Array.isArray(hidden) && hidden.includes(column);
  }

  /** Takes a column out of the table, or puts it in again. */
  toggle(table: string, column: string): void {
    const hidden = new Set(this.#hidden[table] ?? []);
    if (!hidden.delete(column)) hidden.add(column);
    this.#hidden = { ...this.#hidden, [table]: [...hidden] };
    store("tallyman.columns", JSON.stringify(this.#hidden));
  }
}

export const tables = new Tables();
