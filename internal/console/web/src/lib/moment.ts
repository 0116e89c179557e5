import { tag, type Locale } from "./text";

/** The units of times and durations with their milliseconds, the largest unit first. */
const units = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const;

const cached = <T>(make: (locale: Locale) => T): ((locale: Locale) => T) => {
  const made = new Map<Locale, T>();
  return (locale) => {
    const known = made.get(locale) ?? make(locale);
    made.set(locale, known);
    return known;
  };
};

const relativeFormat = cached(
  (locale) =>
    new Intl.RelativeTimeFormat(tag(locale), { numeric: "auto", style: locale === "zh" ? "long" : "short" }),
);
const dateTime = cached(
  (locale) => new Intl.DateTimeFormat(tag(locale), { dateStyle: "medium", timeStyle: "medium" }),
);
const clockTime = cached(
  (locale) => new Intl.DateTimeFormat(tag(locale), { hour: "2-digit", minute: "2-digit", hour12: false }),
);

const clockSeconds = cached((locale) => new Intl.DateTimeFormat(tag(locale), { timeStyle: "medium" }));
const dayTime = cached(
  (locale) =>
    new Intl.DateTimeFormat(tag(locale), {
      month: "short",
      day: "numeric",
      hour: "2-digit",
      minute: "2-digit",
      hour12: false,
    }),
);

/** The reader's timezone. */
const here = Intl.DateTimeFormat().resolvedOptions().timeZone;

const zones = new Map<string, Intl.DateTimeFormat>();

/**
 * Returns the format of times in a timezone. If the browser does not know the timezone, the format uses the reader's
 * timezone.
 */
function inZone(locale: Locale, zone: string): Intl.DateTimeFormat {
  const key = `${locale} ${zone}`;
  let known = zones.get(key);
  if (!known) {
    try {
      known = new Intl.DateTimeFormat(tag(locale), {
        dateStyle: "medium",
        timeStyle: "medium",
        timeZone: zone,
      });
    } catch {
      known = dateTime(locale);
    }
    zones.set(key, known);
  }
  return known;
}

/**
 * Writes how long ago a time was, or how long until it comes, in the largest unit that fits: "3 min ago", "in 2 hr".
 */
export function relative(locale: Locale, at: number, now: number): string {
  const away = at - now;
  for (const [unit, size] of units) {
    if (Math.abs(away) >= size) return relativeFormat(locale).format(Math.trunc(away / size), unit);
  }
  return relativeFormat(locale).format(0, "second");
}

/** Writes date and time in the reader's timezone, or in another timezone with its name. */
export function absolute(locale: Locale, at: number, zone?: string): string {
  if (!zone || zone === here) return dateTime(locale).format(at);
  return `${inZone(locale, zone).format(at)} ${zone}`;
}

/** Writes the time of day, with the date if the day is not today. The text is short enough for a column of a table. */
export function brief(locale: Locale, at: number, now: number): string {
  if (new Date(at).toDateString() === new Date(now).toDateString()) return clockSeconds(locale).format(at);
  return dayTime(locale).format(at);
}

/** Hour and minute in the reader's timezone. */
export function hour(locale: Locale, at: number): string {
  return clockTime(locale).format(at);
}

/** A length of time in its two largest units: "2 h 5 min", "340 ms". */
export function duration(locale: Locale, milliseconds: number): string {
  const format = (value: number, unit: string, digits = 0) =>
    new Intl.NumberFormat(tag(locale), {
      style: "unit",
      unit,
      unitDisplay: locale === "zh" ? "long" : "short",
      maximumFractionDigits: digits,
    }).format(value);
  if (milliseconds < 1_000) return format(Math.round(milliseconds), "millisecond");
  if (milliseconds < 10_000) return format(milliseconds / 1_000, "second", 1);
  const parts: string[] = [];
  let left = Math.round(milliseconds / 1_000) * 1_000;
  for (const [unit, size] of units) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0) parts.push(format(count, unit));
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.join(" ");
}
