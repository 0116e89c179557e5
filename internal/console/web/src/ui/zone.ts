import { getContext, setContext } from "svelte";

const key = Symbol("zone");

/** Sets the timezone of the warehouse that a component and its content are about; undefined = the reader's timezone. */
export function setZone(zone: () => string | undefined): void {
  setContext(key, zone);
}

/** Returns the timezone of the times in a component. */
export function useZone(): () => string | undefined {
  return getContext<(() => string | undefined) | undefined>(key) ?? (() => undefined);
}
