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

/**
 * Returns the bars of the notices, and the length of a bar in seconds: the step of the points. If the step is ten
 * minutes or longer, a bar is at least an hour.
 */
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

/** Returns a figure of each point; null where no sample was taken. */
export function figuresOf(
  points: readonly Point[],
  name: keyof Schemas["HistoryFigures"],
): (number | null)[] {
  return points.map((point) => point.looked?.[name] ?? null);
}

/** Returns the address of the list of notices that were made in a time, for the chosen warehouse, type and status. */
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
