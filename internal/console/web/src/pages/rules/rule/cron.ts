import { tag, type Locale } from "../../../lib/text";

/** A schedule in parts that each language puts together. */
export interface Spoken {
  every:
    | { unit: "second" | "minute" | "hour"; count: number }
    | { unit: "at"; times: string }
    | { unit: "past"; minutes: string };
  /** From the start of the first hour to the end of the last hour. */
  hours?: { from: string; to: string };
  /** Names of weekdays. */
  days?: string;
  /** Days of the month. */
  monthDays?: string;
}

const shorthand: Readonly<Record<string, string>> = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
};
const lengths = { s: "second", m: "minute", h: "hour" } as const;

/** Puts common schedules into words; undefined for a schedule that only cron can express. */
export function spoken(locale: Locale, cron: string): Spoken | undefined {
  const length = /^@every (\d+)([smh])$/.exec(cron.trim());
  if (length) {
    return { every: { unit: lengths[length[2] as keyof typeof lengths], count: Number(length[1]) } };
  }
  const fields = (shorthand[cron.trim()] ?? cron).trim().split(/\s+/);
  if (fields.length === 6 && fields[0] === "0") fields.shift();
  if (fields.length !== 5) return undefined;
  const [minute = "", hour = "", day = "", month = "", weekday = ""] = fields;
  if (month !== "*") return undefined;
  const said = timeOf(minute, hour);
  if (!said) return undefined;
  const days = weekdays(locale, weekday);
  const monthDays = list(day, 1, 31);
  if (days === undefined || monthDays === undefined || (days.length > 0 && monthDays.length > 0))
    return undefined;
  if (days.length > 0) said.days = together(locale, days);
  if (monthDays.length > 0) said.monthDays = together(locale, monthDays.map(String));
  return said;
}

function timeOf(minute: string, hour: string): Spoken | undefined {
  const step = /^(?:\*|0)\/(\d+)$/.exec(minute);
  const hours = /^(\d+)-(\d+)$/.exec(hour);
  const window = hours && { from: clock(Number(hours[1]), 0), to: clock(Number(hours[2]), 59) };
  if (step || minute === "*") {
    if (hour !== "*" && !window) return undefined;
    const every = { unit: "minute", count: step ? Number(step[1]) : 1 } as const;
    return window ? { every, hours: window } : { every };
  }
  const minutes = list(minute, 0, 59);
  if (!minutes?.length) return undefined;
  const hourly = /^(?:\*|0)\/(\d+)$/.exec(hour);
  if (hourly && minutes.length === 1 && minutes[0] === 0) {
    return { every: { unit: "hour", count: Number(hourly[1]) } };
  }
  if (hour === "*" || window) {
    const every = { unit: "past", minutes: minutes.join(", ") } as const;
    return window ? { every, hours: window } : { every };
  }
  const at = list(hour, 0, 23);
  if (!at?.length || at.length * minutes.length > 6) return undefined;
  const times = at.flatMap((each) => minutes.map((past) => clock(each, past)));
  return { every: { unit: "at", times: times.join(", ") } };
}

const clock = (hour: number, minute: number) =>
  `${String(hour).padStart(2, "0")}:${String(minute).padStart(2, "0")}`;

/**
 * Returns the values of a field such as 1-5 or 1,3,6. Empty if the field takes all values; undefined for any other
 * form.
 */
function list(field: string, least: number, most: number): number[] | undefined {
  if (field === "*" || field === "?") return [];
  const all: number[] = [];
  for (const part of field.split(",")) {
    const range = /^(\d+)(?:-(\d+))?$/.exec(part);
    if (!range) return undefined;
    const first = Number(range[1]);
    const last = Number(range[2] ?? range[1]);
    if (first < least || last > most || last < first) return undefined;
    for (let each = first; each <= last; each++) all.push(each);
  }
  return all;
}

const names = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/** Returns the names of days. A range of three or more days is written by its ends. */
function weekdays(locale: Locale, field: string): string[] | undefined {
  const numbers = field.toLowerCase().replace(/[a-z]{3}/g, (name) => String(names.indexOf(name)));
  const days = list(numbers, 0, 7)?.map((day) => day % 7);
  const format = new Intl.DateTimeFormat(tag(locale), { weekday: "long", timeZone: "UTC" });
  const sunday = Date.UTC(2023, 0, 1);
  const name = (day: number) => format.format(sunday + day * 86_400_000);
  if (!days || days.length < 3 || !/^\d-\d$/.test(numbers)) return days?.map(name);
  return [`${name(days[0] ?? 0)} – ${name(days.at(-1) ?? 0)}`];
}

function together(locale: Locale, words: readonly string[]): string {
  return new Intl.ListFormat(tag(locale), { type: "conjunction" }).format(words);
}
