import type { Schemas } from "../../api/client";

export type Queue = Schemas["Queue"];
export type Depth = Schemas["Depth"];
export type Item = Schemas["Item"];
export type Move = Schemas["Move"];
export type ItemState = Item["state"];

/**
 * The lists of waiting items. The list "assigned" has the ready items for one worker alone, apart from the items that
 * any worker may take.
 */
export const waiting = ["ready", "assigned", "leased", "delayed", "suspended", "stored", "dead"] as const;
export const ended = ["done", "removed", "refused"] as const;
/** The list of dead items that wait for an operator since the ledger was restored. */
export const withheld = "withheld";
export type ListState = (typeof waiting)[number] | typeof withheld | (typeof ended)[number];

export function isListState(text: string | null): text is ListState {
  return [...waiting, withheld, ...ended].some((state) => state === text);
}

/** Returns whether items of a list can be removed by their ranks. */
export function hasRanges(state: ListState): boolean {
  return state !== "leased" && waiting.some((each) => each === state);
}

/** Returns how many items of a warehouse are in any of the states. */
export function warehouseDepth(depth: Depth, states: readonly (typeof waiting)[number][]): number {
  return states.reduce((sum, state) => sum + depth[state], 0);
}

/** Returns how many items of a state there are, of one warehouse or of all. */
export function depthOf(queue: Queue, state: (typeof waiting)[number], warehouse: string): number {
  if (!warehouse) return queue[state];
  return queue.warehouses.find((depth) => depth.warehouse === warehouse)?.[state] ?? 0;
}

/** Returns when the lease of an item ends, or when the item is ready again, in ms. Undefined if neither comes. */
export function comesAt(item: Item): number | undefined {
  return item.remainingSeconds === undefined || !item.due ? undefined : Date.parse(item.due);
}

/** Describes an item in a line: the title in the payload, or the payload's plain fields. */
export function summary(payload: unknown): string {
  if (payload === null || typeof payload !== "object") return String(payload);
  if (Array.isArray(payload)) return payload.map(summary).join(", ");
  const fields = payload as Record<string, unknown>;
  if (typeof fields["title"] === "string" && fields["title"] !== "") return fields["title"];
  return Object.entries(fields)
    .filter(([, value]) => value !== null && typeof value !== "object")
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(" · ");
}

/** Returns the title of the item's notice in the reader's language, or a description of the payload. */
export function titled({ title, payload }: Item): string {
  return title || summary(payload);
}

/** The most bytes of a payload. */
export const maxPayload = 64 * 1024;

/** Returns the fault of a payload: it is no JSON (and why), or it is too long. Undefined for a valid payload. */
export function payloadFault(text: string): { fault: "json"; why: string } | { fault: "size" } | undefined {
  let compact: string;
  try {
    compact = JSON.stringify(JSON.parse(text));
  } catch (thrown) {
    return { fault: "json", why: thrown instanceof Error ? thrown.message : String(thrown) };
  }
  return new TextEncoder().encode(compact).length > maxPayload ? { fault: "size" } : undefined;
}

/**
 * Returns the ids of shown items that have left the list since it was read. Such an item is missing in the latest list,
 * and the latest list is complete or still has an item behind it.
 */
export function movedOn(
  shown: readonly { id: string }[],
  latest: readonly { id: string }[],
  complete: boolean,
): ReadonlySet<string> {
  const there = new Set(latest.map((item) => item.id));
  const known = complete ? shown.length : shown.findLastIndex((item) => there.has(item.id));
  return new Set(shown.slice(0, Math.max(known, 0)).flatMap((item) => (there.has(item.id) ? [] : [item.id])));
}

/** Where a queue is on the console. */
export function queueHref(queue: string, test: boolean, state?: ListState, warehouse?: string): string {
  const query = new URLSearchParams();
  if (state) query.set("state", state);
  if (warehouse) query.set("warehouse", warehouse);
  if (test) query.set("test", "true");
  return `/queues/${encodeURIComponent(queue)}${query.size > 0 ? `?${query}` : ""}`;
}

/** Where an item is on the console. */
export function itemHref(queue: string, id: string, test: boolean): string {
  return `/queues/${encodeURIComponent(queue)}/items/${encodeURIComponent(id)}${test ? "?test=true" : ""}`;
}
