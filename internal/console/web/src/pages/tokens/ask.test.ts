import { expect, test } from "vitest";
import { askOf, matches, names, newDraft, type Token } from "./ask";

test("a draft becomes what the API is asked for, without what was left empty", () => {
  expect(askOf({ ...newDraft(), subject: " service:wms ", access: ["service"], life: "" })).toEqual({
    subject: "service:wms",
    access: ["service"],
  });
  expect(
    askOf({
      name: "WMS ",
      subject: "user:ann",
      access: ["admin", "client"],
      warehouses: "119240, 119241",
      subscribers: "role:keeper",
      life: "90",
      day: "",
    }),
  ).toEqual({
    name: "WMS",
    subject: "user:ann",
    access: ["client", "admin"],
    warehouses: ["119240", "119241"],
    subscribers: ["role:keeper"],
    expires: "90d",
  });
});

test("a day is the midnight that begins it, where the reader is", () => {
  const { expires } = askOf({ ...newDraft(), life: "day", day: "2027-01-31" });
  expect(Date.parse(expires!)).toBe(new Date(2027, 0, 31).getTime());
});

test.each([
  ["a,b", ["a", "b"]],
  [" a ,, b\nb ", ["a", "b"]],
  ["a，b、c", ["a", "b", "c"]],
  ["", []],
])("%j names %j", (text, list) => {
  expect(names(text)).toEqual(list);
});

test("a search looks into name, subject, id, access and warehouses", () => {
  const token = {
    id: "t_1",
    name: "Handhelds",
    subject: "service:wms",
    access: ["client"],
    warehouses: ["119240"],
  } as Token;
  for (const search of ["HAND", "wms", "t_1", "client", " 1192"]) expect(matches(token, search)).toBe(true);
  expect(matches(token, "admin")).toBe(false);
});
