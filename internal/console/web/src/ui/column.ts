import type { Snippet } from "svelte";

/** A column of a table. */
export interface Column<T> {
  /** Names the column in the page's code and in what the browser keeps. */
  id: string;
  title: string;
  /** A track of the grid: "8rem", "minmax(12rem, 2fr)". */
  width: string;
  cell: Snippet<[T]>;
  /** Stands in the head in the place of the title. */
  head?: Snippet;
  /** Figures stand at the right. */
  end?: boolean;
  /** What a whole list is sorted by when the title is pressed. */
  sort?: (row: T) => string | number;
  /** The server's orders of a list that comes page by page. */
  order?: Orders;
  /** What the cell shows; a column in which no row has anything is not shown. A column without it always has something. */
  has?: (row: T) => unknown;
  /** It cannot be taken out of the table. */
  fixed?: boolean;
  /** Stands in the first line of a row on a narrow screen; "first" before the others. */
  lead?: boolean | "first";
  /** On a narrow screen: at the end of the first line, beside both lines, or nowhere. Others stand in the second line. */
  narrow?: "state" | "side" | "no";
}

/** The names of the server's orders by a column. */
export interface Orders {
  up?: string;
  down?: string;
}

/** The order that pressing the title asks for; "" is the one that the list has by itself. */
export function nextOrder(orders: Orders, current: string): string {
  const both = [orders.down, orders.up].filter((order) => order !== undefined);
  const at = both.indexOf(current);
  return at < 0
    ? (both[0] ?? "")
    : at + 1 < both.length
      ? (both[at + 1] ?? "")
      : both.length > 1
        ? (both[0] ?? "")
        : "";
}

/** The columns in which a row has something. */
export function filled<T>(columns: readonly Column<T>[], rows: readonly T[]): readonly Column<T>[] {
  if (rows.length === 0) return columns;
  return columns.filter(({ has }) => !has || rows.some((row) => !isEmpty(has(row))));
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === "" || value === 0 || value === false;

/** The least width of a row with these columns, in rem: their tracks, the gaps between them and the row's padding. */
export function leastWidth<T>(columns: readonly Column<T>[]): number {
  const tracks = columns.map(({ width }) => Number(/^(?:minmax\()?([\d.]+)rem/.exec(width)?.[1] ?? 0));
  return tracks.reduce((sum, each) => sum + each, 0) + 0.75 * (columns.length - 1) + 3;
}

/** The rows in the order of a column: those that are the same stay as they were. */
export function sorted<T>(rows: readonly T[], by: (row: T) => string | number, down: boolean): readonly T[] {
  const sign = down ? -1 : 1;
  const collator = new Intl.Collator(undefined, { numeric: true });
  return rows
    .map((row) => ({ row, value: by(row) }))
    .sort(({ value: x }, { value: y }) =>
      typeof x === "number" && typeof y === "number"
        ? sign * (x - y || 0)
        : sign * collator.compare(String(x), String(y)),
    )
    .map(({ row }) => row);
}
