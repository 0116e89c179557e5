/** The languages of the console and the widget. */
export const locales = ["en", "zh"] as const;
export type Locale = (typeof locales)[number];

/** The values for the placeholders of a text. */
export type Values = Readonly<Record<string, string | number>>;

/**
 * A dictionary has a text for each key. A key with a count may have one text for each English plural form instead.
 * `{name}` stands for the value with that name. `{count}` chooses the plural form, and is written as a number of the
 * language.
 */
export type Words = Readonly<Record<string, string | { readonly one: string; readonly other: string }>>;

/** A dictionary in all languages. It does not compile if a language lacks a key. */
export interface Dictionary<W extends Words> {
  readonly en: W;
  readonly zh: { readonly [K in keyof W]: string | { readonly one: string; readonly other: string } };
}

/** Returns the dictionary unchanged. The function only checks the types. */
export function dictionary<const W extends Words>(words: Dictionary<W>): Dictionary<W> {
  return words;
}

/** The language tag that the platform formats numbers and times with. */
export function tag(locale: Locale): string {
  return locale === "zh" ? "zh-CN" : "en-GB";
}

const plurals: Record<Locale, Intl.PluralRules> = {
  en: new Intl.PluralRules("en"),
  zh: new Intl.PluralRules("zh"),
};
const numbers: Record<Locale, Intl.NumberFormat> = {
  en: new Intl.NumberFormat(tag("en")),
  zh: new Intl.NumberFormat(tag("zh")),
};

/** A number as the language writes it. */
export function formatNumber(locale: Locale, value: number): string {
  return numbers[locale].format(value);
}

/** The text of a key, filled with values. */
export function format<W extends Words>(
  words: Dictionary<W>,
  locale: Locale,
  key: keyof W,
  values: Values = {},
): string {
  let text = words[locale][key] as Words[string];
  if (typeof text !== "string") {
    const form = plurals[locale].select(Number(values["count"] ?? 0));
    text = form === "one" ? text.one : text.other;
  }
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name];
    if (value === undefined) return whole;
    return typeof value === "number" ? formatNumber(locale, value) : value;
  });
}
