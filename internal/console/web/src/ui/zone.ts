import { getContext, setContext } from "svelte";

const key = Symbol("zone");

/** Names the timezone of the warehouse that the component and what is in it are about; nothing = the reader's. */
export function setZone(zone: () => string | undefined): void {
  setContext(key, zone);
}

/** The timezone that the times of a component are of. */
export function useZone(): () => string | undefined {
  return getContext<(() => string | undefined) | undefined>(key) ?? (() => undefined);
}
