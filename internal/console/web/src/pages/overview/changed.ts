import type { Schemas } from "../../api/client";

/** Something that happened: a change that has a record, or a run that failed. */
export interface Happened {
  id: string;
  at: string;
  object: string;
  /** The author and the reason of a change, or the error of a run. */
  note: string;
  change?: Schemas["AuditChange"];
  failure?: { href: string };
}

/**
 * Returns the changes and the failed runs, the latest first. Runs of a rule and scope with the same error become one
 * entry, with the time of the latest run.
 */
export function changed(
  runs: readonly Schemas["Failure"][],
  changes: readonly Schemas["AuditChange"][],
): Happened[] {
  const list: Happened[] = changes.map((change) => ({
    id: `change ${change.id}`,
    at: change.at,
    object: change.object,
    note: [change.by, change.reason].filter(Boolean).join(": "),
    change,
  }));
  const seen = new Set<string>();
  for (const { rule, scope, due, error } of runs) {
    const id = `run ${rule} ${scope ?? ""} ${error}`;
    if (seen.has(id)) continue;
    seen.add(id);
    list.push({
      id,
      at: due,
      object: scope ? `${rule} · ${scope}` : rule,
      note: error,
      failure: { href: `/rules/${encodeURIComponent(rule)}` },
    });
  }
  return list.sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
}
