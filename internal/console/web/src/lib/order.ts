import { query } from "./query";

/** The order of a list that comes page by page, as the address says it; "" is the list's own. */
export function orderOf<O extends string>(orders: readonly O[]): O | "" {
  return orders.find((each) => each === query.get("order")) ?? "";
}

/** Puts an order into the address; the list's own takes it out. */
export function setOrder(order: string, own: string): void {
  query.set({ order: order === own ? "" : order });
}

/** The orders of a list whose rows have a time. */
export const byTime = { down: "latest", up: "oldest" } as const;
export const timeOrders = ["latest", "oldest"] as const;
