import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { BrowserContext, Page } from "playwright-core";
import { patience } from "./until";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What went wrong in the pages of a context: violations of the content security policy, uncaught errors, errors in the console. */
export class Faults {
  readonly found: string[] = [];
  private expected: RegExp[] = [];

  /** Errors that a test brings about itself, such as a connection that it cuts. */
  expect(...patterns: RegExp[]): void {
    this.expected.push(...patterns);
  }

  add(text: string): void {
    this.found.push(text);
  }

  /** Throws if there is one that was not expected, and begins anew. */
  check(): void {
    const rest = this.found
      .splice(0)
      .filter((fault) => !this.expected.some((pattern) => pattern.test(fault)));
    this.expected = [];
    if (rest.length > 0) {
      throw new Error(`the page has faults:\n${rest.join("\n")}`);
    }
  }
}

/** Watches every page that the context will have. Call check at the end of each test. */
export async function watch(context: BrowserContext): Promise<Faults> {
  const faults = new Faults();
  context.setDefaultTimeout(patience);
  await context.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) => {
      console.error(
        `CSP violation: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`,
      );
    });
  });
  context.on("page", (page) => {
    page.on("pageerror", (error) => faults.add(`uncaught: ${error.stack ?? error.message}`));
    page.on("console", (message) => {
      if (message.type() === "error") {
        faults.add(`console: ${message.text()} ${message.location().url}`);
      }
    });
  });
  return faults;
}

/** What axe is asked: everything, or what colours alone decide. */
export type Asked = "everything" | "colours";

/** Throws if axe finds anything in the page, however minor, shadow trees included. */
export async function axe(page: Page, within?: string, asked: Asked = "everything"): Promise<void> {
  if (!(await page.evaluate(() => "axe" in window))) {
    await page.evaluate(axeSource); // through the debugger, which the page's policy does not bind
  }
  const results = await page.evaluate(
    async ([selector, rules]): Promise<AxeResults> => {
      const { axe } = window as unknown as {
        axe: { run(context: unknown, options: unknown): Promise<AxeResults> };
      };
      const runOnly = rules === "colours" ? { runOnly: ["color-contrast"] } : {};
      return axe.run(selector ?? document, { resultTypes: ["violations"], ...runOnly });
    },
    [within, asked] as const,
  );
  const { violations } = results;
  if (violations.length > 0) {
    const lines = violations.flatMap((each) =>
      each.nodes.map(
        (node) => `${each.id} (${each.impact}): ${node.target.join(" ")}: ${node.failureSummary}`,
      ),
    );
    throw new Error(`axe finds ${violations.length} faults:\n${lines.join("\n")}`);
  }
}
