import { existsSync } from "node:fs";
import { type Browser, type BrowserServer, chromium } from "playwright-core";
import { inject } from "vitest";

/** Debian's: the one without windows, which is a third quicker here, or the whole. */
const installed = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];

/** Starts the system's Chromium, which speaks to nobody but the pages under test: one for all test files. */
export async function startChromium(): Promise<BrowserServer> {
  return chromium.launchServer({
    executablePath: process.env["CHROMIUM"] ?? installed.find((path) => existsSync(path)) ?? "chromium",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/** Connects to the Chromium of all tests. Closing it ends the contexts of the test file, not the browser. */
export async function launch(): Promise<Browser> {
  return chromium.connect(inject("chromium"));
}
