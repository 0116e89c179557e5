import type { Schemas } from "../../api/client";

export type Token = Schemas["Token"];
export type Ask = Schemas["TokenAsk"];
export type Role = Ask["access"][number];

/** The roles of access, those with the fewest rights first. */
export const roles: readonly Role[] = [
  "client",
  "service",
  "producer",
  "worker",
  "viewer",
  "operator",
  "admin",
];

/** How long a token may live: days, never ("") or until a day. */
export const lives = ["30", "90", "365", "", "day"] as const;
export type Life = (typeof lives)[number];

/** A token while somebody says what it is to be. */
export interface Draft {
  name: string;
  subject: string;
  access: Role[];
  warehouses: string;
  subscribers: string;
  life: Life;
  /** As a date field has it: 2027-01-31. */
  day: string;
}

export function newDraft(): Draft {
  return { name: "", subject: "", access: [], warehouses: "", subscribers: "", life: "90", day: "" };
}

/** What the API is asked for. */
export function askOf(draft: Draft): Ask {
  const warehouses = names(draft.warehouses);
  const subscribers = names(draft.subscribers);
  const expires = ends(draft);
  return {
    subject: draft.subject.trim(),
    access: roles.filter((role) => draft.access.includes(role)),
    ...(draft.name.trim() && { name: draft.name.trim() }),
    ...(warehouses.length > 0 && { warehouses }),
    ...(subscribers.length > 0 && { subscribers }),
    ...(expires && { expires }),
  };
}

/** Names that commas, spaces or lines separate, Chinese commas too. */
export function names(text: string): string[] {
  return [...new Set(text.split(/[\s,，、;；]+/).filter(Boolean))];
}

function ends({ life, day }: Draft): string | undefined {
  if (life === "day") return new Date(`${day}T00:00`).toISOString(); // midnight where the browser is
  return life ? `${life}d` : undefined;
}

/** Whether a token has what somebody looks for. */
export function matches(token: Token, search: string): boolean {
  const text = [token.name, token.subject, token.id, ...token.access, ...token.warehouses].join("\n");
  return text.toLowerCase().includes(search.trim().toLowerCase());
}
