import type { Type } from "./form";

type Deliver = NonNullable<Type["deliver"]>[number];

/** The texts and the delivery of a type while it is edited. A list is a text with one line for each entry. */
export interface WordsDraft {
  /** By language: "" for all readers, English and Chinese always; other languages if the type has them. */
  title: Record<string, string>;
  body: Record<string, string>;
  priority: number | "";
  modal: "silent" | "popup" | "";
  /** name=text */
  labels: string;
  /** sink,strategy=delayed,delay=10m as the command line takes it */
  deliver: string;
}

/** Returns the draft of the texts and the delivery of a type. */
export function wordsOf(type?: Type): WordsDraft {
  const none = { "": "", en: "", zh: "" };
  const texts = { ...none, ...blank(type?.title), ...blank(type?.body) };
  return {
    title: { ...texts, ...type?.title },
    body: { ...texts, ...type?.body },
    priority: type?.priority ?? "",
    modal: type?.modal ?? "",
    labels: Object.entries(type?.labels ?? {})
      .map(([name, text]) => `${name}=${text}`)
      .join("\n"),
    deliver: (type?.deliver ?? []).map(lineOf).join("\n"),
  };
}

const blank = (texts: Record<string, string> = {}) =>
  Object.fromEntries(Object.keys(texts).map((language) => [language, ""]));

/** Returns the fields that the draft adds to a type. Empty fields are left out. */
export function partsOf(draft: WordsDraft): Partial<Type> {
  const title = spoken(draft.title);
  const body = spoken(draft.body);
  const labels = Object.fromEntries(lines(draft.labels).map(pair));
  const deliver = lines(draft.deliver).map(entryOf);
  return {
    ...(title && { title }),
    ...(body && { body }),
    ...(draft.priority !== "" && { priority: draft.priority }),
    ...(draft.modal !== "" && { modal: draft.modal }),
    ...(Object.keys(labels).length > 0 && { labels }),
    ...(deliver.length > 0 && { deliver }),
  };
}

/** Returns the title in a language, or the title that a reader of that language sees instead. */
export function titleIn(type: Pick<Type, "title">, locale: string): string {
  const title = type.title ?? {};
  return title[locale] ?? title[""] ?? title["en"] ?? Object.values(title)[0] ?? "";
}

function spoken(texts: Record<string, string>): Record<string, string> | undefined {
  const said = Object.entries(texts).filter(([, text]) => text.trim() !== "");
  return said.length > 0 ? Object.fromEntries(said) : undefined;
}

const lines = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

function pair(line: string): [string, string] {
  const at = line.indexOf("=");
  return at < 0 ? [line, ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
}

function lineOf({ sink, ...how }: Deliver): string {
  return [sink, ...Object.entries(how).map(([name, value]) => `${name}=${String(value)}`)].join(",");
}

/** Keeps a name that an entry does not have. The server refuses the entry with that name. */
function entryOf(line: string): Deliver {
  const [sink = "", ...how] = line.split(",").map((part) => part.trim());
  const { retry, ...given } = Object.fromEntries(how.map(pair));
  return { sink, ...given, ...(retry && { retry: Number(retry) }) } as Deliver;
}
