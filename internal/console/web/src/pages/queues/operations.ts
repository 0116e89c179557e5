import type { Schemas } from "../../api/client";
import type { Operation } from "../../api/session.svelte";
import type { Item, ItemState } from "./model";

/** The operations on items. wake makes a delayed, suspended or stored item ready at once. */
export const kinds = [
  "assign",
  "wake",
  "requeue",
  "suspend",
  "store",
  "extend",
  "release",
  "fail",
  "set",
  "finish",
  "remove",
] as const;
export type Kind = (typeof kinds)[number];

/** The inputs of an operation. */
export interface Terms {
  worker: string;
  days: number;
  /** fail: the time until the item is ready again; extend: the time until the lease ends. */
  span: string;
  note: string;
  /** set: 0 = the priority stays as it is. */
  priority: number;
  /** set: "" = the order stays as it is; noOrder removes the order. */
  order: string;
}

/** The most operations of a step. */
export const mostSelected = 1_000;

/** The input that removes the order of an item. */
export const noOrder = "none";

const open: readonly Kind[] = ["assign", "suspend", "store", "set", "finish", "remove"];
const away: readonly Kind[] = ["assign", "wake", "suspend", "store", "set", "finish", "remove"];
const byState: Record<ItemState, readonly Kind[]> = {
  ready: open,
  leased: ["assign", "suspend", "store", "extend", "release", "fail", "finish", "remove"],
  delayed: away,
  suspended: away,
  stored: away,
  dead: ["requeue", "set", "remove"],
  done: [],
  removed: [],
  refused: [],
};

/** Returns the operation of the API for a kind and an item. For a leased item, finish acks the attempt. */
export function operationOf(kind: Kind, item: Item): Operation {
  const leased = item.state === "leased";
  switch (kind) {
    case "wake":
      return "store-item";
    case "fail":
      return "nack-item";
    case "finish":
      return leased ? "ack-item" : "finish-item";
    default:
      return `${kind}-item`;
  }
}

/**
 * Returns the operations that are allowed on an item in its state. A user who is no operator may change leased items
 * only, by their attempt.
 */
export function allowed(item: Item, may: (operation: Operation) => boolean): readonly Kind[] {
  const operates = may("finish-item");
  return byState[item.state].filter(
    (kind) => may("step") && may(operationOf(kind, item)) && (operates || item.state === "leased"),
  );
}

/** Returns the operations that are allowed on at least one of several items. */
export function allowedOfAny(
  items: readonly Item[],
  may: (operation: Operation) => boolean,
): readonly Kind[] {
  return kinds.filter((kind) => items.some((item) => allowed(item, may).includes(kind)));
}

/** Returns the operation as a step takes it. */
export function opOf(kind: Kind, item: Item, terms: Terms): Schemas["Op"] {
  const leased = item.state === "leased";
  const op = (name: Schemas["Op"]["op"], more: Partial<Schemas["Op"]> = {}): Schemas["Op"] => ({
    op: name,
    id: item.id,
    ...more,
    ...(terms.note.trim() ? { note: terms.note.trim() } : {}),
  });
  const attempt = leased ? { attempt: item.attempt } : {};
  switch (kind) {
    case "assign":
      return op("assign", { worker: terms.worker.trim(), ...attempt });
    case "wake":
      return op("store", { delay: "0.001s" });
    case "suspend":
      return op("suspend", attempt);
    case "store":
      return op("store", { days: terms.days, ...attempt });
    case "extend":
      return op("extend", { attempt: item.attempt, lease: terms.span.trim() });
    case "release":
      return op("release", { attempt: item.attempt });
    case "fail":
      return op("nack", {
        attempt: item.attempt,
        ...(terms.span.trim() ? { delay: terms.span.trim() } : {}),
      });
    case "finish":
      return leased ? op("ack", attempt) : op("finish");
    case "requeue":
      return op("requeue");
    case "set":
      return op("set", {
        ...(terms.priority ? { priority: terms.priority } : {}),
        ...(terms.order.trim() ? { order: terms.order.trim() === noOrder ? "" : terms.order.trim() } : {}),
      });
    case "remove":
      return op("remove", leased ? { force: true } : {});
  }
}

/**
 * Returns the operations that undo an assignment or a set. The items go back to their assignees, or get their old
 * priority and order. An assignment of leased items has no undo.
 */
export function undoOf(kind: Kind, items: readonly Item[], note: string): Schemas["Op"][] | undefined {
  if (kind === "set")
    return items.map((item) => ({
      op: "set",
      id: item.id,
      priority: item.priority,
      order: item.order ?? "",
      note,
    }));
  if (kind !== "assign" || items.some((item) => item.state === "leased")) return undefined;
  return items.map((item) => ({ op: "assign", id: item.id, worker: item.assignee ?? "", note }));
}

/** How the operations of a step went. */
export interface Tally {
  done: readonly string[];
  /** How often each refusal came. */
  refused: ReadonlyMap<Refusal, number>;
}
export type Refusal = Exclude<Schemas["Result"]["outcome"], "ok">;

export function tally(results: readonly Schemas["Result"][]): Tally {
  const refused = new Map<Refusal, number>();
  const done: string[] = [];
  for (const { id, outcome } of results) {
    if (outcome === "ok") done.push(id);
    else refused.set(outcome, (refused.get(outcome) ?? 0) + 1);
  }
  return { done, refused };
}

/** Returns whether a text is a duration as the API takes it: "90s", "1h30m", "2d". */
export function isSpan(text: string): boolean {
  const part = (unit: string) => `(\\d+(\\.\\d+)?${unit})?`;
  return text.trim() !== "" && new RegExp(`^${["d", "h", "m", "s"].map(part).join("")}$`).test(text.trim());
}
