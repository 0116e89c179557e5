import { api, body, type Schemas } from "../../api/client";
import { session } from "../../api/session.svelte";

/** A subscription; of a list with its origin, and a warning where no rule serves it. */
export type Subscription = Schemas["Subscription"] &
  Pick<Schemas["ListedSubscription"], "origin" | "warning">;
export type Subscriber = Schemas["Subscriber"];

/** Stands for every warehouse. */
export const everywhere = "*";

/** What a list asks for; whatever is left out is not asked. */
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
/** As many as an import takes at once. */
export const chunk = 10_000;

/** Reads subscriptions, `most` at most. Whoever is not for all warehouses is asked for each of his own. */
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

/** The warehouses to ask for: undefined is all at once. */
function warehousesOf(asked: Asked): (string | undefined)[] {
  const own = session.me?.warehouses ?? [];
  if (session.everywhere) return [asked.warehouse];
  if (asked.warehouse) return own.includes(asked.warehouse) ? [asked.warehouse] : [];
  return own.length > 0 ? own : [undefined]; // the API says what is missing
}

/** Whether the token may see the address book, which is for tokens of all warehouses. */
export const seesBook = (): boolean => session.everywhere && session.may("list-subscribers");

/** The whole address book; empty for those who may not see it. */
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

/** The sources that subscriptions come from; none for those who may not see them. */
export async function origins(signal?: AbortSignal): Promise<Schemas["Origin"][]> {
  if (!session.everywhere || !session.may("list-subscription-origins")) return [];
  return (await body(api.GET("/api/v1/subscriptions/origins", { signal: signal ?? null }))).origins;
}

/** The scopes of the rules: a scope is a warehouse as far as subscriptions go. */
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

/** A subscription as it is sent: what a list says of it is no part of it. */
export const bare = ({ type, warehouse, subscriber }: Subscription) => ({ type, warehouse, subscriber });

/** Adds subscriptions; those that are there already stay. */
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
