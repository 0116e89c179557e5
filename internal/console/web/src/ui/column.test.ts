import type { Snippet } from "svelte";
import { expect, test } from "vitest";
import { filled, leastWidth, nextOrder, sorted, type Column } from "./column";

const column = (
  id: string,
  has?: (row: { n?: number; text?: string }) => unknown,
): Column<{ n?: number; text?: string }> => ({
  id,
  title: id,
  width: "1fr",
  cell: undefined as unknown as Snippet<[unknown]>,
  ...(has && { has }),
});

test("a column in which no row has anything is left out, and comes back with the first that has", () => {
  const columns = [column("always"), column("n", (row) => row.n), column("text", (row) => row.text)];
  const ids = (rows: { n?: number; text?: string }[]) => filled(columns, rows).map(({ id }) => id);
  expect(ids([{ n: 0, text: "" }, {}])).toEqual(["always"]);
  expect(ids([{}, { text: "why" }])).toEqual(["always", "text"]);
  expect(ids([{ n: 1 }])).toEqual(["always", "n"]);
  expect(ids([])).toEqual(["always", "n", "text"]);
});

test("pressing a title goes through the orders of its column, and from a single one back to the list's own", () => {
  expect(nextOrder({ down: "latest", up: "oldest" }, "latest")).toBe("oldest");
  expect(nextOrder({ down: "latest", up: "oldest" }, "oldest")).toBe("latest");
  expect(nextOrder({ down: "latest", up: "oldest" }, "")).toBe("latest");
  expect(nextOrder({ down: "waiting" }, "state")).toBe("waiting");
  expect(nextOrder({ down: "waiting" }, "waiting")).toBe("");
});

test("rows are sorted by numbers as numbers, by texts with their numbers, and stay where they are the same", () => {
  const rows = [
    { id: "a", n: 10 },
    { id: "b", n: 9 },
    { id: "c", n: 10 },
    { id: "d", n: Infinity },
    { id: "e", n: Infinity },
  ];
  expect(sorted(rows, (row) => row.n, false).map(({ id }) => id)).toEqual(["b", "a", "c", "d", "e"]);
  expect(sorted(rows, (row) => row.n, true).map(({ id }) => id)).toEqual(["d", "e", "a", "c", "b"]);
  expect(sorted(["A-10", "A-9"], (text) => text, false)).toEqual(["A-9", "A-10"]);
});

test("the least width of a row has the tracks, the gaps and the padding", () => {
  const of = (width: string) => ({ ...column(width), width });
  expect(leastWidth([of("10rem"), of("minmax(4.5rem, 2fr)"), of("1fr")])).toBe(10 + 4.5 + 2 * 0.75 + 3);
});
