import { api, body, type Schemas } from "../../api/client";
import { session } from "../../api/session.svelte";

/** A subscription. In a list it has its origin, and a warning if no rule serves it. */
export type Subscription = Schemas["Subscription"] &
  Pick<Schemas["ListedSubscription"], "origin" | "warning">;
export type Subscriber = Schemas["Subscriber"];

/** Stands for every warehouse. */
export const everywhere = "*";

/** The filter of a list. A field that is left out does not filter. */
export interface Asked {
  type?: string;
  warehouse?: string;
  subscriber?: string;
}

/** Subscriptions, and whether there are more than a page can show. */
export interface Listed {
  subscriptions: Subscription[];
  more: boolean;
}

const page = 1_000;
/** The most subscriptions that an import takes at once. */
export const chunk = 10_000;

/**
 * Loads subscriptions, `most` at most. For a user without all warehouses, the API is asked for each of the user's
 * warehouses.
 */
export async function subscriptions(asked: Asked, most: number, signal?: AbortSignal): Promise<Listed> {
  const found: Subscription[] = [];
  for (const warehouse of warehousesOf(asked)) {
    let after: string | undefined;
    do {
      const limit = Math.min(page, most + 1 - found.length);
      const query = { ...asked, ...(warehouse && { warehouse }), limit, ...(after && { after }) };
      const got = await body(api.GET("/api/v1/subscriptions", { params: { query }, signal: signal ?? null }));
      found.push(...got.subscriptions);
      after = got.cursor;
      if (found.length > most) return { subscriptions: found.slice(0, most), more: true };
    } while (after);
  }
  return { subscriptions: found, more: false };
}

/** Returns the warehouses to ask for; undefined = all at once. */
function warehousesOf(asked: Asked): (string | undefined)[] {
  const own = session.me?.warehouses ?? [];
  if (session.everywhere) return [asked.warehouse];
  if (asked.warehouse) return own.includes(asked.warehouse) ? [asked.warehouse] : [];
  return own.length > 0 ? own : [undefined]; // the API says what is missing
}

/** Returns whether the token may see the address book, which is for tokens of all warehouses. */
export const seesBook = (): boolean => session.everywhere && session.may("list-subscribers");

/** Returns the whole address book; empty if the user may not see it. */
export async function subscribers(signal?: AbortSignal): Promise<Subscriber[]> {
  if (!seesBook()) return [];
  const found: Subscriber[] = [];
  let after: string | undefined;
  do {
    const query = { limit: page, ...(after && { after }) };
    const got = await body(api.GET("/api/v1/subscribers", { params: { query }, signal: signal ?? null }));
    found.push(...got.subscribers);
    after = got.cursor;
  } while (after);
  return found;
}

/** Returns the sources of subscriptions; empty if the user may not see them. */
export async function origins(signal?: AbortSignal): Promise<Schemas["Origin"][]> {
  if (!session.everywhere || !session.may("list-subscription-origins")) return [];
  return (await body(api.GET("/api/v1/subscriptions/origins", { signal: signal ?? null }))).origins;
}

/** Returns the scopes of the rules. For subscriptions, a scope is a warehouse. */
export async function scopes(signal?: AbortSignal): Promise<string[]> {
  if (!session.may("list-rules")) return [];
  const found = new Set<string>();
  let after: string | undefined;
  do {
    const query = { limit: page, ...(after && { after }) };
    const got = await body(api.GET("/api/v1/rules", { params: { query }, signal: signal ?? null }));
    for (const rule of got.rules) for (const { scope } of rule.scopes) if (scope) found.add(scope);
    after = got.cursor;
  } while (after);
  return [...found];
}

/** Returns a subscription as it is sent, without the fields that only a list has. */
export const bare = ({ type, warehouse, subscriber }: Subscription) => ({ type, warehouse, subscriber });

/** Adds subscriptions. Existing subscriptions stay. */
export async function addAll(list: readonly Subscription[]): Promise<void> {
  for (let from = 0; from < list.length; from += chunk) {
    await api.POST("/api/v1/subscriptions/import", {
      body: { subscriptions: list.slice(from, from + chunk).map(bare) },
    });
  }
}

export async function add(subscription: Subscription): Promise<void> {
  await api.POST("/api/v1/subscriptions", { body: bare(subscription) });
}

export async function remove(subscription: Subscription): Promise<void> {
  await api.DELETE("/api/v1/subscriptions", { params: { query: bare(subscription) } });
}
