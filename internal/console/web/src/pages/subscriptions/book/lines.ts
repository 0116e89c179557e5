import type { Subscriber } from "../load";

/** Returns the lines of a field that has one value on each line. */
export function linesOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
}

/** Writes the addresses of channels as lines of name=address. */
export function channelLines(channels: Subscriber["channels"]): string {
  return Object.entries(channels ?? {})
    .map(([name, address]) => `${name}=${address}`)
    .sort()
    .join("\n");
}

/**
 * The reverse of channelLines. A line without = gives a channel without an address. The server refuses such a channel
 * and names it.
 */
export function channelsOf(text: string): Record<string, string> {
  return Object.fromEntries(
    linesOf(text).map((line) => {
      const [name = "", ...rest] = line.split("=");
      return [name.trim(), rest.join("=").trim()];
    }),
  );
}

/**
 * Returns the addresses of an entry other than mail, by which the entry is searched and shown: the phone, the alias and
 * the names of the channels.
 */
export function otherAddresses(entry: Subscriber): string[] {
  const named = [entry.phone, entry.alias].filter((address) => address !== undefined && address !== "");
  return [...named, ...Object.keys(entry.channels ?? {}).sort()] as string[];
}
