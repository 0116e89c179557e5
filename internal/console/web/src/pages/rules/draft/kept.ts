/** A draft as the browser keeps it. */
export interface Kept {
  text: string;
  /** The rule's text when the draft was begun. */
  base: string;
  /** When the draft was last changed, in ms. */
  at: number;
}

const prefix = "tallyman.draft.";

/** How many drafts a browser keeps; beyond that the oldest goes. */
export const mostKept = 20;

/** The drafts of one person, one for each rule. Drafts survive reloads and logins, in this browser only. */
export class Drafts {
  readonly #storage: Storage | undefined;
  readonly #person: string;

  constructor(storage: Storage | undefined, person: string) {
    this.#storage = storage;
    this.#person = person;
  }

  get(rule: string): Kept | undefined {
    try {
      const found: unknown = JSON.parse(this.#storage?.getItem(this.#name(rule)) ?? "null");
      return isKept(found) ? found : undefined;
    } catch {
      return undefined;
    }
  }

  /** Keeps a draft. Returns false if the browser keeps nothing. */
  put(rule: string, kept: Kept): boolean {
    try {
      if (!this.#storage) return false;
      this.#storage.setItem(this.#name(rule), JSON.stringify(kept));
      this.#forgetOldest(this.#storage);
      return true;
    } catch {
      return false;
    }
  }

  drop(rule: string): void {
    try {
      this.#storage?.removeItem(this.#name(rule));
    } catch {
      // where storage is forbidden, no draft is kept
    }
  }

  #name(rule: string): string {
    return `${prefix}${this.#person} ${rule}`;
  }

  #forgetOldest(storage: Storage): void {
    const names = [...Array(storage.length).keys()]
      .map((i) => storage.key(i) ?? "")
      .filter((name) => name.startsWith(prefix));
    if (names.length <= mostKept) return;
    const at = (name: string) => (JSON.parse(storage.getItem(name) ?? "{}") as Partial<Kept>).at ?? 0;
    names.sort((a, b) => at(a) - at(b));
    for (const name of names.slice(0, names.length - mostKept)) storage.removeItem(name);
  }
}

function isKept(found: unknown): found is Kept {
  const kept = found as Partial<Kept> | null;
  return typeof kept?.text === "string" && typeof kept.base === "string";
}

/** The browser's storage; undefined where it is forbidden. */
export function browserStorage(): Storage | undefined {
  try {
    return localStorage;
  } catch {
    return undefined;
  }
}
