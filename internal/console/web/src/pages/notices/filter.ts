/** The names of the filters in the address. */
export const names = [
  "warehouse",
  "type",
  "rule",
  "key",
  "status",
  "priority",
  "span",
  "from",
  "to",
] as const;
export type Name = (typeof names)[number];
export type Filter = Readonly<Record<Name, string>>;

/** Spans of time that a click chooses. */
export const spans = ["1h", "today", "24h", "7d"] as const;

const hour = 3_600_000;

/** Returns the start of a span as the API takes it; empty for an unknown span. */
export function fromOf(span: string, now: number): string {
  switch (span) {
    case "1h":
      return rfc(now - hour);
    case "24h":
      return rfc(now - 24 * hour);
    case "7d":
      return rfc(now - 7 * 24 * hour);
    case "today":
      return rfc(new Date(now).setHours(0, 0, 0, 0));
  }
  return "";
}

/** Returns the parameters of the search. A span such as "24h" is counted back from now. */
export function parameters(filter: Filter, now: number) {
  const { warehouse, type, rule, key, status, priority, span } = filter;
  const from = span === "own" ? rfcOf(filter.from) : fromOf(span, now);
  const to = span === "own" ? rfcOf(filter.to) : "";
  return {
    ...(warehouse && { warehouse: [warehouse] }),
    ...(type && { type: [type] }),
    ...(status && { status: [status] }),
    ...(rule && { rule }),
    ...(key && { key }),
    ...(priority && { priority: Number(priority) }),
    ...(from && { from }),
    ...(to && { to }),
  };
}

/** Writes a moment of an input or of the address for the API; empty if the text is no moment. */
function rfcOf(text: string): string {
  const moment = Date.parse(text);
  return Number.isNaN(moment) ? "" : rfc(moment);
}

const rfc = (moment: number) => new Date(moment).toISOString();
