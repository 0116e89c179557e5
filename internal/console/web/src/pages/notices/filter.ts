/** What the list is narrowed to, as the address has it. */
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

/** From when a span is, as the API takes it; empty where it is none. */
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

/** The parameters of the search. A span that moves on with the time is counted from now. */
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

/** A moment of an input, or of an address; empty where it is none. */
function rfcOf(text: string): string {
  const moment = Date.parse(text);
  return Number.isNaN(moment) ? "" : rfc(moment);
}

const rfc = (moment: number) => new Date(moment).toISOString();
