import type { Subscriber } from "../load";

/** The lines of a field that has one value a line. */
export function linesOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
}

/** The addresses of channels as lines of name=address. */
export function channelLines(channels: Subscriber["channels"]): string {
  return Object.entries(channels ?? {})
    .map(([name, address]) => `${name}=${address}`)
    .sort()
    .join("\n");
}

/** The reverse of channelLines. A line without = is a channel without an address, which the server refuses by its name. */
export function channelsOf(text: string): Record<string, string> {
  return Object.fromEntries(
    linesOf(text).map((line) => {
      const [name = "", ...rest] = line.split("=");
      return [name.trim(), rest.join("=").trim()];
    }),
  );
}

/** The addresses of an entry other than mail, by which it is searched and shown. */
export function otherAddresses(entry: Subscriber): string[] {
  const named = [entry.phone, entry.alias].filter((address) => address !== undefined && address !== "");
  return [...named, ...Object.keys(entry.channels ?? {}).sort()] as string[];
}
