import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { axe } from "../support/page";
import { top } from "../support/setup";
import { until } from "../support/until";
import { fixture, Widget } from "./fixture";
import { web, Workshop } from "./package";

// The examples, as somebody starts from them who has installed their packages.

const shared = fixture();
const examples = {
  react: {
    checker: "tsc",
    wrong: {
      file: "Wrong.tsx",
      text: `import type {} from "tallyman-inbox/react";
export const wrong = <tallyman-inbox server={3} />;
`,
    },
  },
  vue: {
    checker: "vue-tsc",
    wrong: {
      file: "Wrong.vue",
      text: `<script setup lang="ts">
import type {} from "tallyman-inbox/vue";
</script>

<template><tallyman-inbox :server="3" /></template>
`,
    },
  },
};
let workshop: Workshop;

beforeAll(async () => {
  workshop = await Workshop.open();
  for (const example of Object.keys(examples)) {
    shared.site.folders[example] = await workshop.build(example);
  }
}, 180_000);

afterAll(() => workshop.close());

for (const [example, { checker, wrong }] of Object.entries(examples)) {
  test(`${example}: the inbox makes no request when the page renders again`, async () => {
    const user = `render-${example}`;
    const token = await shared.server.token({ subject: `user:${user}`, warehouses: ["119240"] });
    const context = await shared.context();
    const requests: string[] = [];
    context.on("request", (request) => {
      if (request.url().includes("/api/")) requests.push(request.url());
    });
    const page = await context.newPage();
    await page.goto(`${shared.site.origin}/${example}/index.html`);
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
    const widget = new Widget(page);
    await widget.says("No unread notices");
    const streams = () => requests.filter((url) => url.includes("/notices/stream")).length;
    await until(() => streams() === 1, "the stream");
    const before = [...requests];
    expect(before.length).toBeLessThan(6); // the window, popups and the stream

    for (let i = 0; i < 100; i++) {
      await page.getByLabel("Scan a bin").press("1"); // each renders the page again
    }
    await shared.send(user, "Bin A-04 is at -3", { warehouse: "119240", data: { bin: "A-04" } });
    await widget.says("1 unread notice");
    await page.getByText("Picking, 1 unread").waitFor();
    expect(await page.getByLabel("Scan a bin").inputValue()).toBe("1".repeat(100));
    expect(requests).toEqual(before);

    await widget.bell.click();
    await widget.notices.getByRole("button", { name: "Bin A-04 is at -3" }).click();
    await page.locator("#A-04.told").waitFor();
    expect(await page.locator("tallyman-inbox .notice dl").count()).toBe(0);
    await page.getByText("Picking, 0 unread").waitFor();
    await axe(page, "tallyman-inbox");
  });

  test(`${example}: its types are right, and a wrong one is found`, async () => {
    const folder = `widget/${example}`;
    writeFileSync(join(workshop.folder, folder, wrong.file), wrong.text);
    const said = await workshop.run(checker, folder, "--noEmit").catch((failed: Error) => failed.message);
    const faults = [...said.matchAll(/^(\S+)\(\d+,\d+\): error .*/gm)];
    expect(faults.map(([, file]) => file)).toEqual([wrong.file]);
    expect(faults[0]![0]).toContain("number");
  });

  test(`${example}: its packages are those that this test has`, () => {
    const read = (path: string) =>
      JSON.parse(readFileSync(path, "utf8")) as Record<string, Record<string, string>>;
    const wanted = read(join(top, "examples/widget", example, "package.json"));
    const here = read(join(web, "package.json"))["devDependencies"];
    const { "tallyman-inbox": inbox, ...packages } = {
      ...wanted["dependencies"],
      ...wanted["devDependencies"],
    };
    expect(inbox).toBe("file:../../../bin/tallyman-inbox");
    expect(here).toMatchObject(packages);
  });
}
