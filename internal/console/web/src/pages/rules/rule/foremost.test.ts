import { expect, test } from "vitest";
import type { Health, Scope } from "../model";
import { foremost, most } from "./foremost";

const scope = (name: string, health: Health = "ok") => ({ scope: name, health }) as Scope;
const names = (list: readonly Scope[]) => list.map((each) => each.scope);

test("a few scopes stay in their order", () => {
  const few = [scope("b"), scope("a", "failing")];
  expect(foremost(few, "", "")).toEqual({ shown: few, more: 0 });
});

test("of many, the one that is looked at comes first, then what is wrong", () => {
  const many = [...Array(10).keys()].map((i) => scope(`11924${i}`, i === 7 ? "failing" : "ok"));
  const { shown, more } = foremost(many, "", "119249");
  expect(names(shown).slice(0, 3)).toEqual(["119249", "119247", "119240"]);
  expect([shown.length, more]).toEqual([most, 10 - most]);
  expect(foremost(many, " 119248", "119249")).toMatchObject({ shown: [{ scope: "119248" }], more: 0 });
});
