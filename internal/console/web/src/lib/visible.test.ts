import { afterEach, expect, test } from "vitest";
import { keepVisible, visible } from "./visible";

/** Every character up to U+00A0, those that turn the direction of others, and those beside them. */
function all(): string[] {
  const list: string[] = [];
  for (let code = 0; code <= 0xa0; code++) list.push(String.fromCharCode(code));
  for (let code = 0x200b; code <= 0x206f; code++) list.push(String.fromCharCode(code));
  return [...list, "\ufffe", "\uffff", "\ufffd", "\ud800", "\udc00", "\u{1f980}", "货位"];
}

const refused = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

afterEach(() => document.body.replaceChildren());

test("what no text may have is a mark, all else stays", () => {
  expect(visible("a\u0000b\u001b[31m\u007f\u0085\u202e\u2069")).toBe(
    "a[U+0000]b[U+001B][31m[U+007F][U+0085][U+202E][U+2069]",
  );
  expect(visible("one\r\ntwo\rthree\n\tfour")).toBe("one\ntwo[U+000D]three\n\tfour");
  expect(visible("\ud800 \udc00 \u{1f980} \ud83d\ud83e\udd80")).toBe(
    "\ufffd \ufffd \u{1f980} \ufffd\u{1f980}",
  );
  expect(visible("\u200d\u200e\u200f\u00a0\u2028货位")).toBe("\u200d\u200e\u200f\u00a0\u2028货位");
  for (const one of all()) {
    const shown = visible(`a${one}b`);
    expect(shown).not.toMatch(refused);
    expect(visible(shown)).toBe(shown);
    if (!refused.test(one) && !/[\ufffe\uffff]/.test(one) && visible(one) !== "\ufffd")
      expect(shown).toBe(`a${one}b`);
  }
});

test("what is drawn below a root is visible, now and later, and editors are left alone", async () => {
  document.body.innerHTML = "<p title='a'></p><textarea></textarea><div class='cm-editor'><i></i></div>";
  const [paragraph, area, editor] = [...document.body.children] as [Element, Element, Element];
  const odd = all().join("");
  paragraph.textContent = odd;
  const end = keepVisible(document.body);
  expect(paragraph.textContent).toBe(visible(odd));

  const text = paragraph.firstChild as Text;
  text.data = "later \u202e";
  paragraph.setAttribute("title", "\u0007");
  area.append("raw \u0000");
  editor.firstElementChild!.append("raw \u0000");
  const added = document.createElement("b");
  added.setAttribute("aria-label", "\u009b");
  added.append("x\u0085");
  document.body.append(added);
  await new Promise((done) => setTimeout(done));

  expect(text.data).toBe("later [U+202E]");
  expect(paragraph.getAttribute("title")).toBe("[U+0007]");
  expect(added.textContent).toBe("x[U+0085]");
  expect(added.getAttribute("aria-label")).toBe("[U+009B]");
  expect(area.textContent).toBe("raw \u0000");
  expect(editor.textContent).toBe("raw \u0000");
  end();
  text.data = "\u0007";
  await new Promise((done) => setTimeout(done));
  expect(text.data).toBe("\u0007");
});
