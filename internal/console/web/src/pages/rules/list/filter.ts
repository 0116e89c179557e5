import { inShadow, ownSwitch, paused, type Health, type Rule, type Scope } from "../model";

/** A rule in one of its scopes: a row of the list. */
export interface Entry {
  readonly rule: Rule;
  readonly scope: Scope;
}

/** The filter of the list. */
export interface Filter {
  text: string;
  health: string;
  source: string;
  scope: string;
  shadow: boolean;
  switched: boolean;
  findings: boolean;
}

/** The marks of rows by which the list can be filtered. */
export const marks = ["findings", "switched", "shadow"] as const;
export type Mark = (typeof marks)[number];

/** Returns the filter in an address. */
export function parse(query: URLSearchParams): Filter {
  const text = (name: string) => query.get(name) ?? "";
  return {
    text: text("q"),
    health: text("health"),
    source: text("source"),
    scope: text("scope"),
    shadow: query.has("shadow"),
    switched: query.has("switched"),
    findings: query.has("findings"),
  };
}

/** Returns whether a filter leaves anything out. */
export function narrows(filter: Filter): boolean {
  return Object.values(filter).some((value) => value !== "" && value !== false);
}

/** Returns the test of a filter. An entry must have all words of the filter's text, in any order. */
export function matcher(filter: Filter): (entry: Entry) => boolean {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  return ({ rule, scope }) =>
    (filter.health === "" || scope.health === filter.health) &&
    (filter.source === "" || rule.source === filter.source) &&
    (filter.scope === "" || scope.scope === filter.scope) &&
    (!filter.shadow || inShadow(scope)) &&
    (!filter.switched || ownSwitch(scope) !== undefined || paused(scope)) &&
    (!filter.findings || scope.firing + scope.pending > 0) &&
    (words.length === 0 || words.every((word) => searched({ rule, scope }).includes(word)));
}

/** Returns how many entries there are of each health. */
export function countByHealth(entries: readonly Entry[]): Map<Health, number> {
  const counts = new Map<Health, number>();
  for (const { scope } of entries) counts.set(scope.health, (counts.get(scope.health) ?? 0) + 1);
  return counts;
}

/** Returns the different values of a field, numbers in numeric order: 2 before 10. */
export function choices(entries: readonly Entry[], of: (entry: Entry) => string): string[] {
  const { compare } = new Intl.Collator(undefined, { numeric: true });
  return [...new Set(entries.map(of))].filter((value) => value !== "").sort(compare);
}

const texts = new WeakMap<Rule, string>();

function searched({ rule, scope }: Entry): string {
  let text = texts.get(rule);
  if (text === undefined) {
    const labels = Object.entries(rule.labels ?? {}).map(([name, value]) => `${name}=${value}`);
    text = [rule.id, rule.title, rule.owner, rule.type, ...labels].join("\n").toLowerCase();
    texts.set(rule, text);
  }
  return `${text}\n${scope.scope.toLowerCase()}`;
}
