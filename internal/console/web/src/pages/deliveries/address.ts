import { searchParams } from "sv-router";
import { filterOf, type Filter } from "./model";

/** Returns the filter in the page's address. */
export function readFilter(): Filter {
  return filterOf(searchParams.toURLSearchParams());
}

/** Returns the id of the delivery whose details are shown; undefined without one. */
export function readOpened(): number | undefined {
  const id = Number(searchParams.toURLSearchParams().get("delivery") ?? "");
  return Number.isInteger(id) && id > 0 ? id : undefined;
}

export function open(id: number | undefined): void {
  if (id === undefined) searchParams.delete("delivery");
  else searchParams.set("delivery", id);
}

/** Puts a part of the filter into the address. An empty text removes it. */
export function narrow(name: keyof Filter, value: string): void {
  if (value === "") searchParams.delete(name, undefined, { replace: true });
  else searchParams.set(name, value, { replace: true });
}

/** Sets a quick filter: a state, "held" for deliveries that are held back, or "all". */
export function quick(id: string): void {
  searchParams.delete("state", undefined, { replace: true });
  searchParams.delete("held", undefined, { replace: true });
  searchParams.delete("cause", undefined, { replace: true }); // the cause belongs to the previous state
  if (id === "held") searchParams.set("held", "true");
  else if (id !== "all") searchParams.set("state", id);
}

export function clear(): void {
  for (const name of [...searchParams.keys()]) {
    if (name !== "delivery") searchParams.delete(name, undefined, { replace: true });
  }
}
