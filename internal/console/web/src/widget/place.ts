/** Room between the bell, the window and the edges of the page, in px. */
const gap = 8;

/**
 * Puts a window beside the bell, on the side that has room. If the browser has a top layer, the window is in it, so
 * that nothing of the page covers or clips the window. On narrow screens the style sheet lets the window fill the
 * screen. Returns a function that ends this.
 */
export function anchor(window: HTMLElement, bell: HTMLElement): () => void {
  const life = new AbortController();
  const place = () => {
    const { left, right, top, bottom } = bell.getBoundingClientRect();
    const { clientWidth, clientHeight } = document.documentElement;
    const { offsetWidth } = window;
    const below = clientHeight - bottom >= top;
    // The window lines up with the bell's outer edge, and stays inside the page.
    const wanted = (left + right) / 2 > clientWidth / 2 ? right - offsetWidth : left;
    const x = Math.max(gap, Math.min(wanted, clientWidth - offsetWidth - gap));
    window.style.setProperty("--x", `${x}px`);
    window.style.setProperty("--top", below ? `${bottom + gap}px` : "auto");
    window.style.setProperty("--bottom", below ? "auto" : `${clientHeight - top + gap}px`);
    window.style.setProperty("--room", `${(below ? clientHeight - bottom : top) - 2 * gap}px`);
  };
  if ("popover" in window) {
    window.popover = "manual";
    window.showPopover();
  }
  place();
  addEventListener("resize", place, { signal: life.signal });
  addEventListener("scroll", place, { signal: life.signal, capture: true, passive: true });
  return () => life.abort();
}
