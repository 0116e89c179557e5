import { expect, test } from "vitest";
import { most, read } from "./list";

const types = new Set(["REP_NOTICE", "LOT_EXPIRY"]);
const two = [
  { type: "REP_NOTICE", warehouse: "*", subscriber: "role:keeper" },
  { type: "LOT_EXPIRY", warehouse: "119240", subscriber: "user:ann" },
];

test.each([
  ["CSV", "REP_NOTICE,*,role:keeper\nLOT_EXPIRY,119240,user:ann"],
  [
    "CSV with titles in another order",
    "Subscriber,type,warehouse\r\nrole:keeper,REP_NOTICE,*\r\n\r\nuser:ann,LOT_EXPIRY,119240\r\n",
  ],
  ["semicolons and quotes", '"REP_NOTICE"; "*" ; role:keeper\nLOT_EXPIRY;119240;"user:ann"'],
  ["a spreadsheet's tabs", "REP_NOTICE\t*\trole:keeper\nLOT_EXPIRY\t119240\tuser:ann"],
  ["JSON", JSON.stringify(two)],
  [
    "JSON of the API, a warehouse as a number",
    JSON.stringify({ subscriptions: [two[0], { ...two[1], warehouse: 119240 }], cursor: "" }),
  ],
  ["a line twice", "REP_NOTICE,*,role:keeper\nREP_NOTICE,*,role:keeper\nLOT_EXPIRY,119240,user:ann"],
])("reads %s", (_, text) => {
  expect(read(text, types)).toEqual({ subscriptions: two, troubles: [] });
});

test("every line that is wrong is told, with its number", () => {
  const { troubles } = read(
    "REP_NOTICE,*\n\nREP_NOTIC,*,role:a\nREP_NOTICE,,role:a\nREP_NOTICE,*,keeper",
    types,
  );
  expect(troubles).toEqual([
    { line: 1, what: "columns", found: "2" },
    { line: 3, what: "type", found: "REP_NOTIC" },
    { line: 4, what: "warehouse", found: "" },
    { line: 5, what: "subscriber", found: "keeper" },
  ]);
});

test("JSON that is none, or no list, is told", () => {
  expect(read("[{", types).troubles[0]).toMatchObject({ line: 0, what: "json" });
  expect(read('{"a": 1}', types).troubles).toEqual([{ line: 0, what: "json", found: "" }]);
  expect(read("[1]", types).troubles).toEqual([{ line: 1, what: "type", found: "" }]);
});

test("more than the API takes at once is told", () => {
  const text = Array.from({ length: most + 1 }, (_, i) => `REP_NOTICE,*,user:${i}`).join("\n");
  expect(read(text, types).troubles).toEqual([{ line: 0, what: "many", found: String(most + 1) }]);
});
