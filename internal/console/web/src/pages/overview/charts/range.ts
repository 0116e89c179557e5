/** What the charts may be of: spans that a click chooses, or one's own. */
export const ranges = ["1h", "24h", "yesterday", "7d", "30d", "own"] as const;
export type Range = (typeof ranges)[number];

/** What the charts show before somebody chooses. */
const firstRange: Range = "24h";

/** The range that the address names. */
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

/** From when until when a range is, as the API takes it. Yesterday is that of the reader. Undefined where one's own range lacks a time or ends before it begins. */
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
