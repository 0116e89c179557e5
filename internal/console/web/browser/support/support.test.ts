import { createServer, type Server as HTTPServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch } from "./chromium";
import { KeyboardPerson, MousePerson } from "./clicks";
import { layoutFaults } from "./layout";
import { axe, watch } from "./page";
import { until } from "./until";

// Tests that rely on these helpers would pass on a broken page if they found nothing.

let browser: Browser;
let site: HTTPServer;
let body = "";

beforeAll(async () => {
  browser = await launch();
  site = createServer((_, answer) => {
    answer.setHeader("Content-Type", "text/html");
    answer.setHeader("Content-Security-Policy", "default-src 'none'; script-src 'self'");
    answer.end(`<!doctype html><html lang="en"><title>page</title><main>${body}</main></html>`);
  }).listen(0, "127.0.0.1");
  await until(() => site.listening, "the site");
});

afterAll(async () => {
  await browser.close();
  site.close();
});

async function open(html: string) {
  body = html;
  const context = await browser.newContext();
  const faults = await watch(context);
  const page = await context.newPage();
  await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`);
  return { page, faults, context };
}

test("a violation of the policy is a fault", async () => {
  const { faults, context } = await open("<script>1</script>");
  await until(() => faults.found.length > 0, "a fault");
  expect(() => faults.check()).toThrow(/Content Security Policy|CSP violation/);
  await context.close();
});

test("an uncaught error is a fault, but for those that are expected", async () => {
  const { page, faults, context } = await open("");
  await page.evaluate(() => setTimeout(() => Promise.reject(new Error("lost"))));
  await until(() => faults.found.length > 0, "a fault");
  expect(() => faults.check()).toThrow("lost");
  faults.expect(/lost/);
  faults.check();
  await context.close();
});

test("axe finds a button without a name", async () => {
  const { page, context } = await open("<h1>page</h1><button></button>");
  await expect(axe(page)).rejects.toThrow("button-name");
  await page.evaluate(() => (document.querySelector("button")!.textContent = "Go"));
  await axe(page);
  await context.close();
});

test("a task is counted in clicks, and is done by keyboard alone where Tab reaches everything", async () => {
  const { page, context } = await open(
    '<button>One</button><select aria-label="Two"><option>no<option>yes</select><button tabindex="-1">Three</button>',
  );
  for (const person of [new MousePerson(), new KeyboardPerson(page)]) {
    await page.reload();
    const pressed = page.evaluate(() =>
      new Promise((done) => addEventListener("click", done)).then(() => "pressed"),
    );
    await person.press(page.getByRole("button", { name: "One" }));
    expect(await pressed).toBe("pressed");
    await person.choose(page.getByLabel("Two"), "yes");
    expect(await page.getByLabel("Two").inputValue()).toBe("yes");
    expect(person.clicks).toBe(person instanceof MousePerson ? 3 : 0);
  }
  await expect(
    new KeyboardPerson(page, 9).press(page.getByRole("button", { name: "Three" })),
  ).rejects.toThrow("Tab does not reach");
  await context.close();
});

test("a text that is cut off is found, unless a title has it, and so are controls that lie on one another", async () => {
  const { page, context } = await open("<h1>page</h1>");
  const faults = async (html: string) => {
    await page.evaluate((inner) => (document.querySelector("main")!.innerHTML = inner), html);
    await page.evaluate(() => {
      for (const each of document.querySelectorAll<HTMLElement>("[data-look]"))
        each.style.cssText = each.dataset["look"] ?? "";
    });
    return layoutFaults(page);
  };
  const cut = "width: 40px; overflow: hidden; white-space: nowrap";
  expect(await faults(`<p data-look="${cut}">A text that is too long</p>`)).toEqual([
    'is cut off: p. "A text that is too long"',
  ]);
  expect(
    await faults(`<p title="A text that is too long" data-look="${cut}">A text that is too long</p>`),
  ).toEqual([]);
  expect(await faults("<p>A text that is not</p>")).toEqual([]);
  expect(await faults('<button>One</button><button data-look="margin-left: -20px">Two</button>')).toEqual([
    'lie on one another: button. "One" and button. "Two"',
  ]);
  expect(await faults("<button>One</button> <button>Two</button>")).toEqual([]);
  await context.close();
});
