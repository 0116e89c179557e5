import { preferences } from "../../../lib/preferences.svelte";
import { tag } from "../../../lib/text";

/** Returns the name of a language in the current language: "Chinese", "英语". */
export function languageName(code: string): string {
  try {
    return new Intl.DisplayNames(tag(preferences.locale), { type: "language" }).of(code) ?? code;
  } catch {
    return code; // not the tag of a language
  }
}
