import type { Schemas } from "../../api/client";

export type Delivery = Schemas["Delivery"];
export type Attempt = Schemas["Attempt"];
export type DeliveryState = Delivery["state"];
export type Sink = Schemas["Sink"];

export const states = ["pending", "sent", "failed", "timed_out", "canceled"] as const;

/** Which deliveries are listed. */
export interface Filter {
  state: DeliveryState | "";
  /** Only what a silence or an earlier delivery of its finding holds back. */
  held: boolean;
  sink: string;
  warehouse: string;
  type: string;
  rule: string;
  notice: string;
  /** Why they were not sent. */
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

/** The filter that the address tells. */
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

/** Whether the filter leaves anything out. */
export function narrows(filter: Filter): boolean {
  return filter.state !== "" || filter.held || names.some((name) => filter[name] !== "");
}

/** The filter as the list of the API takes it. */
export function queryOf(filter: Filter) {
  return {
    ...given(filter),
    ...(filter.state ? { state: [filter.state] } : {}),
    ...(filter.held ? { held: true } : {}),
  };
}

/** What is true of a delivery of the filter besides its state. */
export function given(filter: Filter): Partial<Record<(typeof names)[number], string>> {
  return Object.fromEntries(names.filter((name) => filter[name] !== "").map((name) => [name, filter[name]]));
}

/** Where a list of deliveries is on the console. */
export function deliveriesHref(filter: Partial<Record<keyof Filter | "delivery", string>>): string {
  return `/deliveries?${new URLSearchParams(filter)}`;
}

/** Whether a try at once could do anything: what has arrived needs none, and the inbox and queues try by themselves. */
export function canRetry(delivery: Delivery, now: number): boolean {
  const outlives = delivery.strategy?.until === "sent";
  if (!outlives && delivery.expiresAt && Date.parse(delivery.expiresAt) <= now) return false;
  if (delivery.state === "sent") return false;
  return delivery.state !== "pending" || (delivery.strategy !== undefined && !delivery.node);
}

export function canCancel(delivery: Delivery): boolean {
  return delivery.state === "pending";
}

/** Why a delivery that is pending is not on its way, the strongest reason first. */
export type Hold =
  | { why: "behind"; id: number | undefined }
  | { why: "silence"; id: string }
  | { why: "breaker"; until: string | undefined }
  | { why: "asked"; until: string }
  | { why: "absent" };

/** What holds a delivery back; nothing where it only waits for its time, or is being tried. */
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

/** How a sink does, in a word. */
export type Health = "ok" | "open" | "half_open" | "held" | "failing" | "down";

export function healthOf(sink: Sink, now: number): Health {
  const push = sink.push;
  if (push?.breaker.state === "open" || push?.breaker.state === "half_open") return push.breaker.state;
  if (push?.heldUntil && Date.parse(push.heldUntil) > now) return "held";
  if (!sink.ok) return "down";
  return push && push.breaker.failures > 0 ? "failing" : "ok";
}

/** Deliveries of a list that have left it since it was read: newer than the last that was read anew, and not in it. */
export function left(
  shown: readonly Delivery[],
  latest: readonly Delivery[],
  complete: boolean,
): readonly number[] {
  const there = new Set(latest.map((delivery) => delivery.id));
  const lowest = complete ? 0 : (latest.at(-1)?.id ?? Number.MAX_SAFE_INTEGER);
  return shown.filter(({ id }) => id >= lowest && !there.has(id)).map(({ id }) => id);
}
