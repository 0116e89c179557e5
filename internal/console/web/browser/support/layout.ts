import type { Page } from "playwright-core";

/** What is wrong with how the page is laid out: texts that are cut off without a title that has them whole, and controls that lie on one another. */
export async function layoutFaults(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const faults = new Set<string>();
    const name = (element: Element) => {
      const text = (element.textContent ?? "").trim().replace(/\s+/g, " ").slice(0, 40);
      return `${element.tagName.toLowerCase()}.${[...element.classList].filter((each) => !each.startsWith("svelte-")).join(".")} "${text}"`;
    };
    /** The part of an element that can be seen, within everything that scrolls or cuts. */
    const seen = (element: Element): DOMRect | undefined => {
      if (!(element as HTMLElement).checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }))
        return undefined;
      let { left, top, right, bottom } = element.getBoundingClientRect();
      for (let at = element.parentElement; at && at !== document.body; at = at.parentElement) {
        const style = getComputedStyle(at);
        if (style.overflowX === "visible" && style.overflowY === "visible") continue;
        const box = at.getBoundingClientRect();
        [left, top] = [Math.max(left, box.left), Math.max(top, box.top)];
        [right, bottom] = [Math.min(right, box.right), Math.min(bottom, box.bottom)];
      }
      [left, right] = [Math.max(left, 0), Math.min(right, innerWidth)];
      return right - left > 1 && bottom - top > 1
        ? new DOMRect(left, top, right - left, bottom - top)
        : undefined;
    };

    for (const element of document.querySelectorAll<HTMLElement>("body *")) {
      if (
        element.closest(".visually-hidden, svg, dialog:not([open]), [popover]:not(:popover-open), .cm-editor")
      )
        continue;
      const style = getComputedStyle(element);
      const cuts = style.overflowX === "hidden" || style.overflowX === "clip";
      const says = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent?.trim());
      const text = says || (cuts && element.textContent?.trim());
      if (!text || !cuts || style.clipPath !== "none" || !seen(element)) continue;
      if (element.scrollWidth <= element.clientWidth + 1) continue;
      const told = element.closest("[title]") ?? element.querySelector("[title]");
      if (!told) faults.add(`is cut off: ${name(element)}`);
    }

    const controls = [
      ...document.querySelectorAll<HTMLElement>("a[href], button, input, select, textarea, summary"),
    ].filter(
      (each) => !each.closest("dialog:not([open]), [popover]:not(:popover-open)") && !each.matches(".skip"),
    );
    const boxes = controls.flatMap((element) => {
      const box = seen(element);
      return box ? [{ element, box }] : [];
    });
    boxes.forEach(({ element, box }, i) => {
      for (const other of boxes.slice(i + 1)) {
        if (element.contains(other.element) || other.element.contains(element)) continue;
        const wide = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
        const high = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
        if (wide > 2 && high > 2)
          faults.add(`lie on one another: ${name(element)} and ${name(other.element)}`);
      }
    });
    return [...faults];
  });
}
