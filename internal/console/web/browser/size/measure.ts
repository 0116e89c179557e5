import type { BrowserContext, Page } from "playwright-core";

/** The rows of the page's table that are in the document. */
export const rowsInDocument = (page: Page): Promise<number> =>
  page.locator("main [role=table] .body [role=row]").count();

/** The rows that the table has, whether they are in the document or not. */
export const rowsInTable = async (page: Page): Promise<number> =>
  Number(await page.locator("main [role=table]").getAttribute("aria-rowcount")) - 1;

/** Notes in every page of the context when its first row is painted, counted from the navigation. */
export async function noteFirstRow(context: BrowserContext): Promise<void> {
  await context.addInitScript(() => {
    const watch = new MutationObserver(() => {
      if (!document.querySelector("main [role=table] .body [role=row]")) return;
      watch.disconnect();
      requestAnimationFrame(() => requestAnimationFrame((at) => Object.assign(window, { firstRow: at })));
    });
    watch.observe(document, { childList: true, subtree: true });
  });
}

/** When the first row was painted, in ms after the navigation. */
export async function firstRow(page: Page): Promise<number> {
  const at = await page.waitForFunction(() => (window as { firstRow?: number }).firstRow);
  return (await at.jsonValue()) as number;
}

/** Scrolls through the page in so many steps, one a frame, and tells how long frames took, in ms. */
export async function scrollThrough(page: Page, steps: number): Promise<{ p95: number; longest: number }> {
  return page.evaluate(async (count) => {
    const frame = () => new Promise<number>((resolve) => requestAnimationFrame(resolve));
    const took: number[] = [];
    const height = document.documentElement.scrollHeight - innerHeight;
    let last = await frame();
    for (let i = 1; i <= count; i++) {
      scrollTo(0, (height * i) / count);
      const now = await frame();
      took.push(now - last);
      last = now;
    }
    took.sort((a, b) => a - b);
    return { p95: took[Math.floor(took.length * 0.95)] ?? 0, longest: took.at(-1) ?? 0 };
  }, steps);
}

/** Scrolls to the end, and again as more rows come, until the table has so many. */
export async function scrollToAll(page: Page, count: number): Promise<void> {
  await page.waitForFunction(
    (all) => {
      scrollTo(0, document.documentElement.scrollHeight);
      const table = document.querySelector("main [role=table]");
      return Number(table?.getAttribute("aria-rowcount")) - 1 === all;
    },
    count,
    { timeout: 100_000 }, // asked once a frame
  );
}
