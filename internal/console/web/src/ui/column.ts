import type { Snippet } from "svelte";

/** A column of a table. */
export interface Column<T> {
  /** Identifies the column in the page's code and in the browser's storage. */
  id: string;
  title: string;
  /** A track of the grid: "8rem", "minmax(12rem, 2fr)". */
  width: string;
  cell: Snippet<[T]>;
  /** Stands in the head in the place of the title. */
  head?: Snippet;
  /** Figures stand at the right. */
  end?: boolean;
  /** Returns the value by which a completely loaded list is sorted when the title is pressed. */
  sort?: (row: T) => string | number;
  /** The server's orders of a list that comes page by page. */
  order?: Orders;
  /**
   * Returns the content of the cell. A column is not shown if no row has content in it. A column without `has` is
   * always shown.
   */
  has?: (row: T) => unknown;
  /** The user cannot take the column out of the table. */
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

/** Returns the order for which a press on the title asks; "" is the list's default order. */
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

/** Returns the columns in which any row has content. */
export function filled<T>(columns: readonly Column<T>[], rows: readonly T[]): readonly Column<T>[] {
  if (rows.length === 0) return columns;
  return columns.filter(({ has }) => !has || rows.some((row) => !isEmpty(has(row))));
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === "" || value === 0 || value === false;

/**
 * Returns the least width of a row with these columns, in rem: their tracks, the gaps between them and the row's
 * padding.
 */
export function leastWidth<T>(columns: readonly Column<T>[]): number {
  const tracks = columns.map(({ width }) => Number(/^(?:minmax\()?([\d.]+)rem/.exec(width)?.[1] ?? 0));
  return tracks.reduce((sum, each) => sum + each, 0) + 0.75 * (columns.length - 1) + 3;
}

/** Returns the rows in the order of a column. Rows with equal values keep their order. */
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
