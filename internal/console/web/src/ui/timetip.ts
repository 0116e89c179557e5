/** Elements that can have the focus by themselves, and rows whose controls can have it. */
const others = "a, button, summary, label, [role=row], tr";

/**
 * Lets Tab stop at a time, unless the time stands where Tab stops anyway. In a row, the date is shown with the row's
 * controls.
 */
export function reachable(time: HTMLElement): void {
  if (!time.closest(others)) time.tabIndex = 0;
}

/** Returns the time whose date is shown when the user has come to the element with Tab. */
export function timeOf(element: Element): HTMLTimeElement | undefined {
  if (!element.matches(":focus-visible")) return undefined;
  if (element instanceof HTMLTimeElement) return element;
  const within = element.querySelector<HTMLTimeElement>("time[title]");
  return (
    within ?? element.closest("[role=row], tr")?.querySelector<HTMLTimeElement>("time[title]") ?? undefined
  );
}
