/** The page above another one. */
export interface Parent {
  href: string;
  /** A page of the navigation, or the name of a queue. */
  title: { section: "rules" | "notices" | "queues" } | { name: string };
}

/** Returns the page above a path; undefined for the pages of the navigation. */
export function parentOf(path: string): Parent | undefined {
  const [section, ...rest] = path.split("/").filter(Boolean);
  if (section === "queues" && rest.length === 3)
    return { href: `/queues/${rest[0]}`, title: { name: decodeURIComponent(rest[0] ?? "") } };
  if (rest.length > 0 && (section === "rules" || section === "notices" || section === "queues"))
    return { href: `/${section}`, title: { section } };
  return undefined;
}

/** The last parameters of each page's address, so that the link back leads to a list as the user left it. */
class Trail {
  readonly #left = new Map<string, string>();

  /** Remembers the page that is open. */
  see(path: string, search: URLSearchParams): void {
    this.#left.set(path, search.toString());
  }

  /** Returns the link back from a page. A page about a test twin leads back to the test twin. */
  back(path: string, search: URLSearchParams): Parent | undefined {
    const parent = parentOf(path);
    if (!parent) return undefined;
    const last = new URLSearchParams(this.#left.get(parent.href));
    const twin = search.get("test");
    if (twin) last.set("test", twin);
    return { ...parent, href: last.size > 0 ? `${parent.href}?${last}` : parent.href };
  }
}

export const trail = new Trail();
