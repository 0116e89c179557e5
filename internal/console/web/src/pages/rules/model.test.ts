import { expect, test } from "vitest";
import { keyText } from "./key";
import { place, webLink } from "./model";

test("only links to pages can be followed", () => {
  expect(webLink("https://wiki.example.com/a b")).toBe("https://wiki.example.com/a%20b");
  expect(webLink("http://wiki/x")).toBe("http://wiki/x");
  for (const bad of ["javascript:alert(1)", "data:text/html,x", "/rules", "wiki", "", undefined]) {
    expect(webLink(bad)).toBeUndefined();
  }
});

test("a place is said as compilers say it", () => {
  const problem = { code: "c", message: "m", file: "/etc/rules/stock.yaml", line: 12, col: 7 };
  expect(place(problem)).toBe("stock.yaml:12:7");
  expect(place({ ...problem, line: 0, col: 0 })).toBe("stock.yaml");
  expect(place({ ...problem, file: "" })).toBe("12:7");
});

test("a key is its values; what is none stays as it is", () => {
  expect(keyText('[119240,"A-01",null,"1.50"]')).toBe("119240, A-01, null, 1.50");
  expect(keyText("A-01")).toBe("A-01");
  expect(keyText('{"a":1}')).toBe('{"a":1}');
});
