/** What has the focus by itself, or is a row whose controls have it. */
const others = "a, button, summary, label, [role=row], tr";

/** Lets Tab stop at a time, unless it stands where Tab stops anyhow: in a row, the date is shown with the row's first control. */
export function reachable(time: HTMLElement): void {
  if (!time.closest(others)) time.tabIndex = 0;
}

/** The time whose date somebody wants to see who has come to that element with Tab. */
export function timeOf(element: Element): HTMLTimeElement | undefined {
  if (!element.matches(":focus-visible")) return undefined;
  if (element instanceof HTMLTimeElement) return element;
  const within = element.querySelector<HTMLTimeElement>("time[title]");
  return (
    within ?? element.closest("[role=row], tr")?.querySelector<HTMLTimeElement>("time[title]") ?? undefined
  );
}
