const sizes: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 };

/** Returns the milliseconds of a duration as the API writes it: "72h", "1d12h", "90s". Undefined for any other text. */
export function span(text: string): number | undefined {
  if (!/^(\d+[dhms])+$/.test(text)) return undefined;
  let total = 0;
  for (const [, count, unit] of text.matchAll(/(\d+)([dhms])/g)) total += Number(count) * (sizes[unit!] ?? 0);
  return total;
}
