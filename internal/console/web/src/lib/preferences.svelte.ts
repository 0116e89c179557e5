import { dictionary, format, type Dictionary, type Locale, type Values, type Words } from "./text";

export type Theme = "system" | "light" | "dark";
/** How times are told: how long ago, or date and time. */
export type Times = "relative" | "absolute";

/** What the browser keeps under a name. */
export const stored = (name: string): string | null => {
  try {
    return localStorage.getItem(name);
  } catch {
    return null; // storage is forbidden: preferences last as long as the page
  }
};

/** Has the browser keep something. */
export const store = (name: string, value: string): void => {
  try {
    localStorage.setItem(name, value);
  } catch {
    // as above
  }
};

const firstLocale = (): Locale => {
  const saved = stored("tallyman.locale");
  if (saved === "en" || saved === "zh") return saved;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
};

const firstTheme = (): Theme => {
  const saved = stored("tallyman.theme");
  return saved === "light" || saved === "dark" ? saved : "system";
};

/** What somebody likes: kept in the browser, the same in all its tabs. */
class Preferences {
  locale = $state<Locale>(firstLocale());
  theme = $state<Theme>(firstTheme());
  times = $state<Times>(stored("tallyman.times") === "absolute" ? "absolute" : "relative");

  setLocale(locale: Locale): void {
    this.locale = locale;
    store("tallyman.locale", locale);
    this.apply();
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    store("tallyman.theme", theme);
    this.apply();
  }

  setTimes(times: Times): void {
    this.times = times;
    store("tallyman.times", times);
  }

  /** Puts language and colours onto the document. */
  apply(): void {
    const root = document.documentElement;
    root.lang = this.locale === "zh" ? "zh-CN" : "en";
    if (this.theme === "system") delete root.dataset["theme"];
    else root.dataset["theme"] = this.theme;
  }
}

export const preferences = new Preferences();

/** Declares the texts of a page or component and returns what looks them up in the language of the moment. */
export function texts<const W extends Words>(
  words: Dictionary<W>,
): (key: keyof W, values?: Values) => string {
  const declared = dictionary(words);
  return (key, values) => format(declared, preferences.locale, key, values);
}
