import { expect, test } from "vitest";
import { draftOf, typeOf, type Type } from "./form";
import { partsOf, titleIn, wordsOf } from "./words";

const type: Type = {
  code: "COUNT_DIFF",
  id: 7,
  name: "Stock count difference",
  fields: { bin: { type: "string", required: true } },
  title: { "": "Count {{ .bin }}", zh: "盘点 {{ .bin }}", "pt-BR": "Conte {{ .bin }}" },
  body: { en: "Twice.\nPlease." },
  priority: 4,
  modal: "popup",
  labels: { area: "stock", rule: "a=b" },
  deliver: [{ sink: "inbox" }, { sink: "sms", strategy: "delayed", delay: "10m", retry: 2, unless: "read" }],
};

test("what a type says stays what it was, with languages that the form does not know", () => {
  expect(typeOf(draftOf(type), { twice: String })).toEqual(type);
});

test("both texts have the same languages, those of readers in general, English and Chinese first", () => {
  const { title, body } = wordsOf(type);
  expect(Object.keys(title)).toEqual(["", "en", "zh", "pt-BR"]);
  expect(Object.keys(body)).toEqual(Object.keys(title));
});

test("lists are written a line each, and what the form does not know is left to the server", () => {
  const draft = wordsOf(type);
  expect(draft.deliver).toBe("inbox\nsms,strategy=delayed,delay=10m,retry=2,unless=read");
  expect(draft.labels).toBe("area=stock\nrule=a=b");
  expect(partsOf({ ...draft, deliver: " inbox \n\n sms, soon=yes" }).deliver).toEqual([
    { sink: "inbox" },
    { sink: "sms", soon: "yes" },
  ]);
});

test("what is left empty is left to the program", () => {
  expect(partsOf(wordsOf())).toEqual({});
  expect(partsOf({ ...wordsOf(), title: { "": " ", en: "Count" } })).toEqual({ title: { en: "Count" } });
});

test("the title is that of the language, that for all readers, or English", () => {
  expect(titleIn(type, "zh")).toBe("盘点 {{ .bin }}");
  expect(titleIn(type, "en")).toBe("Count {{ .bin }}");
  expect(titleIn({ title: { zh: "盘点", en: "Count" } }, "de")).toBe("Count");
  expect(titleIn({}, "en")).toBe("");
});
