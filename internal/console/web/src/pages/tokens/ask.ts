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

/** A token while the user fills in the form. */
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

/** Returns the request for the API. */
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

/** Returns the names in a text. Commas, spaces or lines separate them, Chinese commas too. */
export function names(text: string): string[] {
  return [...new Set(text.split(/[\s,，、;；]+/).filter(Boolean))];
}

function ends({ life, day }: Draft): string | undefined {
  if (life === "day") return new Date(`${day}T00:00`).toISOString(); // midnight in the browser's timezone
  return life ? `${life}d` : undefined;
}

/** Returns whether a token matches the search. */
export function matches(token: Token, search: string): boolean {
  const text = [token.name, token.subject, token.id, ...token.access, ...token.warehouses].join("\n");
  return text.toLowerCase().includes(search.trim().toLowerCase());
}
