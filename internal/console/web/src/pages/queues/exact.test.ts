import { expect, test } from "vitest";
import { parseExactly } from "./exact";

test("numbers are shown as they were written, where the browser can", () => {
  const text = '{"id":12345678901234567890,"price":1.10,"n":7,"s":"12345678901234567890"}';
  const can = "rawJSON" in JSON;
  const shown = JSON.stringify(parseExactly(text));
  expect(shown).toBe(can ? text : '{"id":12345678901234567000,"price":1.1,"n":7,"s":"12345678901234567890"}');
});
