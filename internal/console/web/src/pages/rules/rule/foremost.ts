import { healths, type Scope } from "../model";

/** How many scopes a rule's card shows. */
export const most = 6;

/**
 * Returns the scopes that a card shows, and how many more match the search. The chosen scope comes first, then the
 * scopes with the most urgent healths.
 */
export function foremost(
  scopes: readonly Scope[],
  search: string,
  looked: string,
): { shown: Scope[]; more: number } {
  const wanted = search.trim().toLowerCase();
  const found = scopes.filter((scope) => scope.scope.toLowerCase().includes(wanted));
  if (found.length <= most) return { shown: found, more: 0 };
  const rank = (scope: Scope) => (scope.scope === looked ? -1 : healths.indexOf(scope.health));
  const sorted = found.toSorted((a, b) => rank(a) - rank(b));
  return { shown: sorted.slice(0, most), more: found.length - most };
}
