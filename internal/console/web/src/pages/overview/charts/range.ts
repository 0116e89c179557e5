/** The ranges of the charts: fixed spans, or the reader's own range. */
export const ranges = ["1h", "24h", "yesterday", "7d", "30d", "own"] as const;
export type Range = (typeof ranges)[number];

/** The range of the charts before the reader chooses. */
const firstRange: Range = "24h";

/** Returns the range in the address. */
export function rangeOf(text: string): Range {
  return ranges.find((range) => range === text) ?? firstRange;
}

const hour = 3_600_000;
const lengths: Partial<Record<Range, number>> = {
  "1h": hour,
  "24h": 24 * hour,
  "7d": 168 * hour,
  "30d": 720 * hour,
};

/**
 * Returns the start and the end of a range as the API takes them. Yesterday is a day of the reader's timezone.
 * Undefined if the reader's own range lacks a time, ends before it begins, or lies in the future.
 */
export function spanOf(
  range: Range,
  own: { from: string; to: string },
  now: number,
): { from: string; to: string } | undefined {
  const rfc = (moment: number | Date) => new Date(moment).toISOString();
  if (range === "own") {
    const [from, to] = [Date.parse(own.from), Date.parse(own.to)];
    return from < Math.min(to, now) ? { from: rfc(from), to: rfc(to) } : undefined;
  }
  if (range === "yesterday") {
    const today = new Date(now);
    today.setHours(0, 0, 0, 0);
    const before = new Date(today);
    before.setDate(before.getDate() - 1);
    return { from: rfc(before), to: rfc(today) };
  }
  return { from: rfc(now - (lengths[range] ?? hour)), to: rfc(now) };
}
