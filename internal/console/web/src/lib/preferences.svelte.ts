import { dictionary, format, type Dictionary, type Locale, type Values, type Words } from "./text";

export type Theme = "system" | "light" | "dark";
/** How pages show times: how long ago, or date and time. */
export type Times = "relative" | "absolute";

/** Returns the value that the browser keeps under a name; null without one. */
export const stored = (name: string): string | null => {
  try {
    return localStorage.getItem(name);
  } catch {
    return null; // storage is forbidden: preferences last as long as the page
  }
};

/** Stores a value in the browser under a name. */
export const store = (name: string, value: string): void => {
  try {
    localStorage.setItem(name, value);
  } catch {
    // storage is forbidden: preferences last as long as the page
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

/** The preferences of the reader. The browser keeps them for all its tabs. */
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

/** Declares the texts of a page or component. Returns a function that looks up a text in the current language. */
export function texts<const W extends Words>(
  words: Dictionary<W>,
): (key: keyof W, values?: Values) => string {
  const declared = dictionary(words);
  return (key, values) => format(declared, preferences.locale, key, values);
}
