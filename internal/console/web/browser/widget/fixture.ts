import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll } from "vitest";
import { launch } from "../support/chromium";
import { type Faults, watch } from "../support/page";
import { type SendNotice, Server, type ServerOptions } from "../support/server";
import { until } from "../support/until";
import { type PageOptions, Site } from "./site";

/** What the tests of a file share: a server, a site that embeds the widget, and a browser. */
export class Fixture {
  browser!: Browser;
  server!: Server;
  site!: Site;
  private readonly opened: { context: BrowserContext; faults: Faults }[] = [];

  /** A browser of its own: other cookies, locks and channels than those of the others. */
  async context(
    options: Parameters<Browser["newContext"]>[0] = {},
  ): Promise<BrowserContext & { faults: Faults }> {
    const context = await this.browser.newContext(options);
    const faults = await watch(context);
    this.opened.push({ context, faults });
    return Object.assign(context, { faults });
  }

  /** Opens a page and waits until its widget knows the notices. */
  async open(context: BrowserContext, options: PageOptions = {}): Promise<Widget> {
    const page = await context.newPage();
    await page.goto(this.site.page(options));
    return new Widget(page);
  }

  /** Makes users that nobody has notices of, with tokens at the site. */
  async users(...names: string[]): Promise<void> {
    for (const name of names) {
      this.site.tokens[name] = await this.server.token({ subject: `user:${name}`, warehouses: ["W1"] });
    }
  }

  /** Sends a notice to a user and returns its id. */
  async send(user: string, title: string, more: Partial<SendNotice> = {}): Promise<string> {
    const notice = {
      type: "REP_NOTICE",
      warehouse: "W1",
      title,
      body: `${title}: the body`,
      recipients: [`user:${user}`],
      ...more,
    };
    return (await this.server.send(notice as SendNotice))[0]!;
  }

  /** Waits until a user's inbox has so many notices: they are delivered after they were sent. */
  async delivered(user: string, count: number): Promise<void> {
    const poll = () =>
      this.server.call<{ notices: unknown[] }>("GET", "/api/v1/notices", undefined, this.site.tokens[user]);
    await until(async () => (await poll()).notices.length === count, `${count} notices of ${user}`);
  }

  /** How many streams the server has open. */
  streams(): Promise<number> {
    return this.server.metric("tallyman_streams");
  }

  async start(options: ServerOptions): Promise<void> {
    this.site = await Site.start();
    this.server = await Server.start({ ...options, origins: [this.site.origin] });
    this.site.tallyman = this.server.address;
    this.browser = await launch();
  }

  /** Closes the browsers of a test; what went wrong in their pages fails it. */
  async finish(): Promise<void> {
    const opened = this.opened.splice(0);
    await Promise.all(opened.map(({ context }) => context.close()));
    opened.forEach(({ faults }) => faults.check());
  }

  async stop(): Promise<void> {
    await this.browser.close();
    await this.server.stop();
    this.site.stop();
  }
}

/** The widget of a page, as its user finds it. */
export class Widget {
  constructor(readonly page: Page) {}

  get bell(): Locator {
    return this.page.locator("tallyman-inbox .bell");
  }

  get window(): Locator {
    return this.page.getByRole("dialog", { includeHidden: false }).first();
  }

  get popup(): Locator {
    return this.page.getByRole("alertdialog");
  }

  get notices(): Locator {
    return this.page.getByRole("article");
  }

  /** Waits until the bell says this. */
  async says(label: string): Promise<void> {
    await this.page.locator(`tallyman-inbox .bell[aria-label="${label}"]`).waitFor();
  }

  /** Waits until the titles of the list are these. */
  async lists(...titles: string[]): Promise<void> {
    const wanted = JSON.stringify(titles);
    await this.page.waitForFunction((want) => {
      const found = document.querySelector("tallyman-inbox")?.shadowRoot?.querySelectorAll(".title") ?? [];
      return JSON.stringify([...found].map((title) => title.textContent)) === want;
    }, wanted);
  }

  /** The titles of the notices that the page was told of by events. */
  heard(type: string): Promise<string[]> {
    return this.page.evaluate(
      (wanted) =>
        (window as unknown as { heard: { type: string; detail: { title: string } }[] }).heard
          .filter((event) => event.type === wanted)
          .map((event) => event.detail.title),
      type,
    );
  }
}

/** A fixture for the tests of this file. */
export function fixture(options: ServerOptions = {}): Fixture {
  const shared = new Fixture();
  beforeAll(() => shared.start(options));
  afterEach(() => shared.finish());
  afterAll(() => shared.stop());
  return shared;
}
