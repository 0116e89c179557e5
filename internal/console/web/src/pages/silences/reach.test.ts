import { expect, test } from "vitest";
import type { Schemas } from "../../api/client";
import { parse } from "./matcher";
import { reach } from "./reach";

const scope = (name: string, firing: number, shadow = false) => ({ scope: name, firing, shadow });
const rules = [
  { id: "bins", type: "REP", labels: { area: "stock" }, scopes: [scope("119240", 3), scope("119241", 4)] },
  { id: "lots", type: "LOT", scopes: [scope("", 7)] },
  { id: "new", type: "REP", scopes: [scope("119240", 9, true)] },
] as unknown as Schemas["Rule"][];

const of = (...texts: string[]) =>
  reach(
    texts.map((text) => parse(text)!),
    rules,
  );

test.each([
  [["rule=bins"], { rules: 1, firing: 7, perhaps: 0, ofKeys: false }],
  [["type=~REP|LOT"], { rules: 2, firing: 14, perhaps: 0, ofKeys: false }],
  [["rule=bins", "warehouse=119241"], { rules: 1, firing: 4, perhaps: 0, ofKeys: false }],
  [["warehouse=119240"], { rules: 1, firing: 3, perhaps: 1, ofKeys: false }],
  [["area=stock"], { rules: 1, firing: 7, perhaps: 0, ofKeys: false }],
  [["labels.area!=stock"], { rules: 1, firing: 7, perhaps: 0, ofKeys: false }],
  [["rule=bins", 'key=[119240,"A-01"]'], { rules: 1, firing: 7, perhaps: 0, ofKeys: true }],
  [["rule=nothing"], { rules: 0, firing: 0, perhaps: 0, ofKeys: false }],
])("%j reaches", (texts, want) => {
  expect(of(...(texts as string[]))).toEqual(want);
});

test("what this browser cannot judge is not guessed", () => {
  expect(of("rule=~(?P<x>a")).toBeUndefined();
});
