import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { TestProject } from "vitest/node";
import { startChromium } from "./chromium";

declare module "vitest" {
  export interface ProvidedContext {
    /** The path of the tallyman program under test. */
    tallyman: string;
    /** Where the browser listens that all tests share. */
    chromium: string;
  }
}

/** The top of the repository. */
export const top = resolve(import.meta.dirname, "../../../../..");

/** Starts the browser and builds the program once for all tests, unless TALLYMAN_BIN names one. Returns what ends both. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), "tallyman-bin-"));
  project.provide("tallyman", program(folder));
  const browser = await startChromium();
  project.provide("chromium", browser.wsEndpoint());
  return async () => {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  };
}

/** The path of the program under test. */
function program(folder: string): string {
  const given = process.env["TALLYMAN_BIN"];
  if (given) return resolve(given);
  const binary = join(folder, "tallyman");
  execFileSync("go", ["build", "-o", binary, "./cmd/tallyman"], { cwd: top, stdio: "inherit" });
  return binary;
}
