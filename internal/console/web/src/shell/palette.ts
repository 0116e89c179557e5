import type { Schemas } from "../api/client";
import { keyText } from "../pages/rules/key";
import type { IconName } from "../ui/Icon.svelte";

/** Something that the palette leads to. */
export interface Target {
  id: string;
  href: string;
  icon: IconName;
  title: string;
  /** The text behind the title. */
  about: string;
}

/** The targets of one kind. */
export interface Group {
  id: "pages" | "rules" | "findings" | "notices" | "items";
  targets: readonly Target[];
  /** There may be more than these. */
  more: boolean;
}

/** How many rules are offered at most. A user who wants another rule writes more letters. */
const most = 8;

const has = (text: string, wanted: string) => text.toLowerCase().includes(wanted.toLowerCase());

/**
 * Returns the targets whose title, text or id has the wanted text. Without a wanted text, returns all pages but no
 * rules.
 */
export function matching(id: "pages" | "rules", all: readonly Target[], wanted: string): Group {
  const found = all.filter(
    ({ title, about, id }) => has(title, wanted) || has(about, wanted) || has(id, wanted),
  );
  const shown = id === "rules" && !wanted ? [] : found.slice(0, id === "pages" ? all.length : most);
  return { id, targets: shown, more: shown.length < found.length && wanted !== "" };
}

/** The functions for the words that the palette takes from the page's language. */
export interface Say {
  state: (state: string) => string;
  since: (at: string) => string;
}

/** Returns the targets that the server has found, by kind. */
export function groupsOf(found: Schemas["Found"], say: Say): Group[] {
  const part = encodeURIComponent;
  const about = (...parts: string[]) => parts.filter(Boolean).join(" · ");
  const findings = found.findings.map((each): Target => ({
    id: `finding ${each.rule} ${each.scope} ${each.key}`,
    href: `/rules/${part(each.rule)}?${new URLSearchParams({ tab: "why", scope: each.scope, key: each.key })}`,
    icon: "warning",
    title: keyText(each.key),
    about: about(each.rule, each.warehouse, say.state(each.state), say.since(each.since)),
  }));
  const notices = found.notices.map((each): Target => ({
    id: `notice ${each.id}`,
    href: `/notices/${part(each.id)}`,
    icon: "notices",
    title: each.title,
    about: about(each.warehouse, say.state(each.status), say.since(each.createdAt)),
  }));
  const items = found.items.map((each): Target => ({
    id: `item ${each.queue} ${each.id}`,
    href: `/queues/${part(each.queue)}/items/${part(each.id)}`,
    icon: "queues",
    title: each.key || each.subject || each.id,
    about: about(each.queue, each.warehouse ?? "", say.state(each.state)),
  }));
  const more = (kind: string) => found.more.includes(kind);
  return [
    { id: "findings", targets: findings, more: more("findings") },
    { id: "notices", targets: notices, more: more("notices") },
    { id: "items", targets: items, more: more("items") },
  ];
}
