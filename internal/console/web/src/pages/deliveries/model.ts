import type { Schemas } from "../../api/client";

export type Delivery = Schemas["Delivery"];
export type Attempt = Schemas["Attempt"];
export type DeliveryState = Delivery["state"];
export type Sink = Schemas["Sink"];

export const states = ["pending", "sent", "failed", "timed_out", "canceled"] as const;

/** Which deliveries are listed. */
export interface Filter {
  state: DeliveryState | "";
  /** Only deliveries that a silence or an earlier delivery of the finding holds back. */
  held: boolean;
  sink: string;
  warehouse: string;
  type: string;
  rule: string;
  notice: string;
  /** The cause why deliveries were not sent. */
  cause: string;
}

const names = ["sink", "warehouse", "type", "rule", "notice", "cause"] as const;

/** The filter that leaves nothing out. */
export const noFilter: Filter = {
  state: "",
  held: false,
  sink: "",
  warehouse: "",
  type: "",
  rule: "",
  notice: "",
  cause: "",
};

/** Returns the filter in the address. */
export function filterOf(query: URLSearchParams): Filter {
  const said = (name: string) => (query.get(name) ?? "").trim();
  const state = states.find((each) => each === said("state")) ?? "";
  return {
    state,
    held: said("held") === "true",
    sink: said("sink"),
    warehouse: said("warehouse"),
    type: said("type"),
    rule: said("rule"),
    notice: said("notice"),
    cause: said("cause"),
  };
}

/** Returns whether the filter leaves anything out. */
export function narrows(filter: Filter): boolean {
  return filter.state !== "" || filter.held || names.some((name) => filter[name] !== "");
}

/** Returns the filter as the list of the API takes it. */
export function queryOf(filter: Filter) {
  return {
    ...given(filter),
    ...(filter.state ? { state: [filter.state] } : {}),
    ...(filter.held ? { held: true } : {}),
  };
}

/** Returns the set fields of the filter, without the state and `held`. */
export function given(filter: Filter): Partial<Record<(typeof names)[number], string>> {
  return Object.fromEntries(names.filter((name) => filter[name] !== "").map((name) => [name, filter[name]]));
}

/** Where a list of deliveries is on the console. */
export function deliveriesHref(filter: Partial<Record<keyof Filter | "delivery", string>>): string {
  return `/deliveries?${new URLSearchParams(filter)}`;
}

/**
 * Returns whether a retry could have an effect. A sent delivery needs no retry. The inbox and queues try pending
 * deliveries by themselves. A delivery expires with its notice, unless it is tried until it is sent.
 */
export function canRetry(delivery: Delivery, now: number): boolean {
  const outlives = delivery.strategy?.until === "sent";
  if (!outlives && delivery.expiresAt && Date.parse(delivery.expiresAt) <= now) return false;
  if (delivery.state === "sent") return false;
  return delivery.state !== "pending" || (delivery.strategy !== undefined && !delivery.node);
}

export function canCancel(delivery: Delivery): boolean {
  return delivery.state === "pending";
}

/** The reasons why a pending delivery waits, the strongest reason first. */
export type Hold =
  | { why: "behind"; id: number | undefined }
  | { why: "silence"; id: string }
  | { why: "breaker"; until: string | undefined }
  | { why: "asked"; until: string }
  | { why: "absent" };

/**
 * Returns the reason that holds a delivery back. Undefined if the delivery only waits for its time, or a node is trying
 * it.
 */
export function holdOf(
  delivery: Delivery,
  sinks: readonly Sink[] | undefined,
  now: number,
): Hold | undefined {
  if (delivery.state !== "pending" || delivery.node) return undefined;
  if (delivery.behind) return { why: "behind", id: delivery.inFront };
  if (delivery.heldBy) return { why: "silence", id: delivery.heldBy };
  if (!sinks) return undefined;
  const sink = sinks.find((each) => each.name === delivery.sink);
  if (!sink) return { why: "absent" };
  if (sink.push?.breaker.state === "open") return { why: "breaker", until: sink.push.breaker.until };
  const { heldUntil } = sink.push ?? {};
  if (heldUntil && Date.parse(heldUntil) > now) return { why: "asked", until: heldUntil };
  return undefined;
}

/** The health of a sink. */
export type Health = "ok" | "open" | "half_open" | "held" | "failing" | "down";

export function healthOf(sink: Sink, now: number): Health {
  const push = sink.push;
  if (push?.breaker.state === "open" || push?.breaker.state === "half_open") return push.breaker.state;
  if (push?.heldUntil && Date.parse(push.heldUntil) > now) return "held";
  if (!sink.ok) return "down";
  return push && push.breaker.failures > 0 ? "failing" : "ok";
}

/**
 * Returns the ids of shown deliveries that have left the list. Such a delivery is missing in the latest first page, and
 * is newer than the last delivery of that page.
 */
export function left(
  shown: readonly Delivery[],
  latest: readonly Delivery[],
  complete: boolean,
): readonly number[] {
  const there = new Set(latest.map((delivery) => delivery.id));
  const lowest = complete ? 0 : (latest.at(-1)?.id ?? Number.MAX_SAFE_INTEGER);
  return shown.filter(({ id }) => id >= lowest && !there.has(id)).map(({ id }) => id);
}
