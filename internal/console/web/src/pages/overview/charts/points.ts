import type { Schemas } from "../../../api/client";

type Point = Schemas["HistoryPoint"];

/** How many notices were made in a bar. */
export interface Bar {
  start: number;
  notices: number;
  urgent: number;
}

const hour = 3_600;

/** When a point begins, in seconds since 1970. */
export const seconds = (point: Point) => Date.parse(point.start) / 1_000;

/** The bars of the notices, and how long each is in seconds: an hour, but in the last two hours a minute. */
export function barsOf(points: readonly Point[], step: number): { bars: Bar[]; length: number } {
  const length = step < 600 ? step : Math.max(step, hour);
  const bars: Bar[] = [];
  for (const point of points) {
    const start = Math.floor(seconds(point) / length) * length;
    const last = bars.at(-1);
    if (last?.start === start) {
      last.notices += point.notices;
      last.urgent += point.urgent;
    } else {
      bars.push({ start, notices: point.notices, urgent: point.urgent });
    }
  }
  return { bars, length };
}

/** A figure of each point; null where nobody looked. */
export function figuresOf(
  points: readonly Point[],
  name: keyof Schemas["HistoryFigures"],
): (number | null)[] {
  return points.map((point) => point.looked?.[name] ?? null);
}

/** The list of notices that were made in a time, of a warehouse and a type where they are chosen. */
export function noticesOf(
  from: number,
  to: number,
  chosen: { warehouse: string; type: string; status?: string },
): string {
  const moment = (at: number) => new Date(at * 1_000).toISOString();
  const query = new URLSearchParams({ span: "own", from: moment(from), to: moment(to) });
  for (const [name, value] of Object.entries(chosen)) if (value) query.set(name, value);
  return `/notices?${query}`;
}
