import { expect, test } from "vitest";
import { Failure } from "../../api/failure";
import { draftOf, matches, nameOf, newField, typeOf, type Type } from "./form";

const type: Type = {
  code: "REP_NOTICE",
  id: 124719,
  name: "Replenishment notice",
  names: { zh: "补货通知", "pt-BR": "Reposição" },
  category: "SUBSCRIBE_TYP",
  retention: "72h",
  fields: { bin: { type: "string", required: true }, qty: { type: "decimal" } },
};
const texts = { twice: (name: string) => `${name} is there twice` };

test("a type that is opened and saved stays what it was, with languages that the form does not know", () => {
  expect(typeOf(draftOf(type), texts)).toEqual(type);
});

test("what is left empty is left out", () => {
  const draft = { ...draftOf(), code: " A ", id: 7, name: " Late truck " };
  expect(typeOf(draft, texts)).toEqual({ code: "A", id: 7, name: "Late truck" });
});

test("two fields of one name are refused at that field, as one would be lost", () => {
  const draft = draftOf(type);
  draft.fields.push({ ...newField(draft.fields), name: "bin " });
  let thrown: unknown;
  try {
    typeOf(draft, texts);
  } catch (failure) {
    thrown = failure;
  }
  expect(thrown).toBeInstanceOf(Failure);
  expect((thrown as Failure).faults).toEqual([
    { location: "body.fields.bin", message: "bin is there twice" },
  ]);
});

test("a new field has a key of its own", () => {
  const { fields } = draftOf(type);
  expect(fields.map((field) => field.key)).not.toContain(newField(fields).key);
  expect(newField([]).key).toBe(0);
});

test("the name is that of the language, or the one for all", () => {
  expect(nameOf(type, "zh")).toBe("补货通知");
  expect(nameOf(type, "en")).toBe("Replenishment notice");
});

test("a search looks into code, id, names and category", () => {
  for (const search of ["rep_", " 124719", "补货", "subscribe"]) expect(matches(type, search)).toBe(true);
  expect(matches(type, "truck")).toBe(false);
});
