const units: readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number][] = [
  ["day", 86400],
  ["hour", 3600],
  ["minute", 60],
];

/** Says how long ago a moment is, or how soon it comes, as the language says it: "12 sec ago", "3小时后". Moments are ms since 1970. */
export function relativeTime(at: number, now: number, language: string): string {
  const seconds = Math.round((at - now) / 1000);
  const [unit, size] = units.find((each) => Math.abs(seconds) >= each[1]) ?? ["second", 1];
  return new Intl.RelativeTimeFormat(language, { style: "short", numeric: "auto" }).format(
    Math.trunc(seconds / size),
    unit,
  );
}

/** A moment in full, for titles: "21 Nov 2026, 20:15:44". */
export function fullTime(at: number, language: string): string {
  return new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium" }).format(at);
}
