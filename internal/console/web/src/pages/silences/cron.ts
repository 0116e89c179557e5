import { tag, type Locale } from "../../lib/text";

/** When a cron fires, in the forms that people use for windows. */
export type Spoken =
  | { kind: "day"; time: string }
  | { kind: "week"; time: string; days: string }
  | { kind: "month"; time: string; days: string }
  | { kind: "hour"; minute: string };

const shorthand: Readonly<Record<string, string>> = {
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@hourly": "0 * * * *",
};
const weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/** Puts a cron into words; undefined if the text is no cron, or if the cron has another form. */
export function spoken(locale: Locale, cron: string): Spoken | undefined {
  const fields = (shorthand[cron.trim()] ?? cron).trim().split(/\s+/);
  if (fields.length === 6 && fields[0] === "0") fields.shift();
  const [minute = "", hour = "", day = "", month = "", week = ""] = fields;
  if (fields.length !== 5 || !within(minute, 0, 59) || month !== "*") return undefined;
  if (hour === "*" && day === "*" && week === "*") return { kind: "hour", minute: minute.padStart(2, "0") };
  if (!within(hour, 0, 23)) return undefined;
  const time = `${hour.padStart(2, "0")}:${minute.padStart(2, "0")}`;
  if (day === "*" && (week === "*" || week === "?")) return { kind: "day", time };
  if (day === "*" || day === "?") {
    const days = list(week.toLowerCase(), (text) =>
      within(text, 0, 7) ? Number(text) % 7 : weekdays.indexOf(text),
    );
    return (
      days && {
        kind: "week",
        time,
        days: together(
          locale,
          days.map((each) => weekday(locale, each)),
        ),
      }
    );
  }
  if (week !== "*" && week !== "?") return undefined;
  const days = list(day, (text) => (within(text, 1, 31) ? Number(text) : -1));
  return days && { kind: "month", time, days: together(locale, days.map(String)) };
}

const within = (text: string, least: number, most: number) =>
  /^\d{1,2}$/.test(text) && Number(text) >= least && Number(text) <= most;

/** Returns the values of a field such as 1-5 or 1,3,6; undefined for any other form. */
function list(field: string, value: (text: string) => number): number[] | undefined {
  const all: number[] = [];
  for (const part of field.split(",")) {
    const [from = "", to] = part.split("-");
    const first = value(from);
    const last = to === undefined ? first : value(to);
    if (first < 0 || last < first) return undefined;
    for (let each = first; each <= last; each++) all.push(each);
  }
  return all;
}

function weekday(locale: Locale, day: number): string {
  const sunday = Date.UTC(2023, 0, 1);
  const format = new Intl.DateTimeFormat(tag(locale), { weekday: "long", timeZone: "UTC" });
  return format.format(sunday + day * 86_400_000);
}

function together(locale: Locale, words: readonly string[]): string {
  return new Intl.ListFormat(tag(locale), { type: "conjunction" }).format(words);
}
