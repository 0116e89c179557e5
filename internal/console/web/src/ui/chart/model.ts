import { tag, type Locale } from "../../lib/text";

/** A line or the bars of a chart. */
export interface Series {
  label: string;
  /** A value for each time; null where no sample was taken. */
  values: readonly (number | null)[];
  /** The name of a colour of tokens.css. */
  colour: string;
  kind: "bars" | "line";
}

/** The distances that the lines of an axis of durations may have, in seconds. These durations have short labels. */
export const durationSteps = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200,
  21_600, 43_200, 86_400, 172_800, 604_800, 1_209_600, 2_419_200, 4_838_400, 31_536_000,
];

/** The distance of ticks, in seconds, from which on the axis names days instead of times. */
const day = 86_400;

/**
 * Returns the point to which a key moves the cursor, among `count` points; undefined if the key is none of the chart.
 * Page keys move by a tenth.
 */
export function moved(key: string, at: number, count: number): number | undefined {
  const tenth = Math.max(1, Math.round(count / 10));
  const to = {
    ArrowLeft: at - 1,
    ArrowRight: at + 1,
    ArrowDown: at - 1,
    ArrowUp: at + 1,
    PageDown: at - tenth,
    PageUp: at + tenth,
    Home: 0,
    End: count - 1,
  }[key];
  return to === undefined ? undefined : Math.min(Math.max(to, 0), count - 1);
}

/** Writes the time of a point for the readout and the table: the day, and the times when the point begins and ends. */
export function pointTime(locale: Locale, start: number, step: number): string {
  const format = new Intl.DateTimeFormat(tag(locale), {
    weekday: "short",
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    hour12: false,
  });
  return format.formatRange(start * 1_000, (start + step) * 1_000);
}

/** Writes the time at a tick of the axis: the day if ticks are days apart, or if a day begins at the tick. */
export function tickTime(locale: Locale, at: number, apart: number): string {
  const moment = new Date(at * 1_000);
  const midnight = moment.getHours() === 0 && moment.getMinutes() === 0;
  return new Intl.DateTimeFormat(
    tag(locale),
    apart >= day || midnight
      ? { month: "short", day: "numeric" }
      : { hour: "2-digit", minute: "2-digit", hour12: false },
  ).format(moment);
}
