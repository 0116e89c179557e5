import { searchParams } from "sv-router";
import { filterOf, type Filter } from "./model";

/** The filter of the page's address. */
export function readFilter(): Filter {
  return filterOf(searchParams.toURLSearchParams());
}

/** The delivery whose details are shown; nothing where none are. */
export function readOpened(): number | undefined {
  const id = Number(searchParams.toURLSearchParams().get("delivery") ?? "");
  return Number.isInteger(id) && id > 0 ? id : undefined;
}

export function open(id: number | undefined): void {
  if (id === undefined) searchParams.delete("delivery");
  else searchParams.set("delivery", id);
}

/** Puts a part of the filter into the address; the empty text takes it out. */
export function narrow(name: keyof Filter, value: string): void {
  if (value === "") searchParams.delete(name, undefined, { replace: true });
  else searchParams.set(name, value, { replace: true });
}

/** The quick filters: a state, what is held back, or all. */
export function quick(id: string): void {
  searchParams.delete("state", undefined, { replace: true });
  searchParams.delete("held", undefined, { replace: true });
  searchParams.delete("cause", undefined, { replace: true }); // of the state before
  if (id === "held") searchParams.set("held", "true");
  else if (id !== "all") searchParams.set("state", id);
}

export function clear(): void {
  for (const name of [...searchParams.keys()]) {
    if (name !== "delivery") searchParams.delete(name, undefined, { replace: true });
  }
}
