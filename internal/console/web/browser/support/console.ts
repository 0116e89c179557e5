import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll } from "vitest";
import { launch } from "./chromium";
import { axe, type Faults, watch } from "./page";
import { Server, type ServerOptions } from "./server";

/** How somebody looks at the console. */
export interface Look extends BrowserContextOptions {
  /** The secret that he is logged in with; nothing: he is not. */
  token?: string;
  locale?: "en" | "zh";
}

/** What one of the tests has open. */
export interface Seat {
  page: Page;
  context: BrowserContext;
  faults: Faults;
}

/** A context of the browser. One that a test has left serves the next test that looks in the same way: it has the program compiled. */
interface Kept {
  look: string;
  context: BrowserContext;
  faults: Faults;
}

/** A narrow screen that is touched. */
export const handheld: Look = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

/** A server with tokens and a browser, for all tests of a file. */
export class Console {
  server!: Server;
  private browser!: Browser;
  private seats: (Seat & Kept)[] = [];
  private kept: Kept[] = [];

  constructor(private readonly options: ServerOptions) {}

  async start(): Promise<void> {
    [this.server, this.browser] = await Promise.all([Server.start(this.options), launch()]);
  }

  async stop(): Promise<void> {
    await this.browser.close();
    await this.server.stop();
  }

  /** Opens a page of the console; as the admin, unless the look says otherwise. */
  async open(path: string, look: Look = {}): Promise<Seat> {
    const asked = JSON.stringify(look);
    const at = this.kept.findIndex((each) => each.look === asked);
    const [free] = at < 0 ? [] : this.kept.splice(at, 1);
    const kept = free ?? (await this.make(asked, look));
    const page = await kept.context.newPage();
    const seat = { ...kept, page };
    this.seats.push(seat);
    if (free) await this.forget(page);
    await page.goto(this.server.address + path);
    return seat;
  }

  private async make(asked: string, look: Look): Promise<Kept> {
    const { token = this.server.admin, locale = "en", ...rest } = look;
    const context = await this.browser.newContext({
      viewport: { width: 1280, height: 800 },
      reducedMotion: "reduce", // nothing to wait for
      ...rest,
      locale,
    });
    const faults = await watch(context);
    await context.addInitScript((secret) => {
      if (!location.protocol.startsWith("http")) return; // a page that is none yet has no storage
      if (sessionStorage.getItem("seated")) return; // once: who logs out stays out
      sessionStorage.setItem("seated", "yes");
      if (secret) sessionStorage.setItem("tallyman.token", secret);
    }, token);
    return { look: asked, context, faults };
  }

  /** Takes away what the browser has kept for the test before. */
  private async forget(page: Page): Promise<void> {
    const devtools = await page.context().newCDPSession(page);
    const kept = { origin: this.server.address, storageTypes: "local_storage,indexeddb,cache_storage" };
    await devtools.send("Storage.clearDataForOrigin", kept);
    await devtools.detach();
  }

  /** Closes what the test has opened, and throws where a page had a fault. Of a test that failed it prints what each page shows and what the server logged. */
  async finish(failed: boolean): Promise<void> {
    const { seats } = this;
    this.seats = [];
    if (failed) {
      for (const { page } of seats) console.error(await shows(page));
      console.error(`The server's log ends with:\n${this.server.logged()}`);
    }
    for (const { look, context, faults } of seats) {
      if (failed) await context.close();
      else {
        await Promise.all([
          ...context.pages().map((page) => page.close()),
          context.unrouteAll(),
          context.setOffline(false),
        ]);
        this.kept.push({ look, context, faults });
      }
    }
    for (const { faults } of seats) faults.check();
  }
}

/** A console for the tests of this file. Its pages are checked for faults after each test. */
export function consoleFixture(options: ServerOptions = {}): Console {
  const shared = new Console(options);
  beforeAll(() => shared.start());
  afterEach(({ task }) => shared.finish(task.result?.state === "fail"));
  afterAll(() => shared.stop());
  return shared;
}

/** What a person would read on the page. */
async function shows(page: Page): Promise<string> {
  const text = await page.evaluate(() => document.body.innerText).catch((error: unknown) => String(error));
  return `The page ${page.url()} shows:\n${text}`;
}

/** Looks with axe at the page in light and in dark colours. */
export async function axeBoth(page: Page): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.waitForFunction(
      (scheme) => matchMedia(`(prefers-color-scheme: ${scheme})`).matches,
      colorScheme,
    );
    await page.evaluate(
      () => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))),
    );
    await axe(page, undefined, colorScheme === "light" ? "everything" : "colours"); // the rest is the same in both
  }
}
