import { query } from "./query";

/** Returns the order of a list that comes page by page, from the address; "" is the list's default order. */
export function orderOf<O extends string>(orders: readonly O[]): O | "" {
  return orders.find((each) => each === query.get("order")) ?? "";
}

/** Puts an order into the address. The list's default order removes it from the address. */
export function setOrder(order: string, own: string): void {
  query.set({ order: order === own ? "" : order });
}

/** The orders of a list whose rows have a time. */
export const byTime = { down: "latest", up: "oldest" } as const;
export const timeOrders = ["latest", "oldest"] as const;
