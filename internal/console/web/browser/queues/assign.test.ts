import { expect, test } from "vitest";
import { KeyboardPerson, MousePerson, type Person } from "../support/clicks";
import { consoleFixture } from "../support/console";
import { until } from "../support/until";
import { item, lease, push, site } from "./site";

const shared = consoleFixture(site);

const people = { mouse: () => new MousePerson(), keyboard: KeyboardPerson };

for (const hand of ["mouse", "keyboard"] as const) {
  test(`by ${hand}: the item that waits longest is assigned to a worker that the queue knows`, async () => {
    const name = hand === "mouse" ? "picking" : "returns";
    // Someone worked here before; of what is ready, the oldest has the lowest priority and so is served last.
    await push(shared.server, name, [`${hand}-held`], { priority: 5 });
    await lease(shared.server, name, "bob");
    await push(shared.server, name, [`${hand}-oldest`], { priority: 1 });
    await push(shared.server, name, [`${hand}-newer`], { priority: 5 });
    const { page } = await shared.open(`/queues/${name}`);
    const rows = page.getByRole("table", { name: "Ready" }).getByRole("row");
    await rows.nth(1).getByText(`bin ${hand}-newer`).waitFor();

    const person: Person = hand === "mouse" ? people.mouse() : new people.keyboard(page);
    await person.press(page.getByRole("button", { name: "Ready since" }));
    await rows.nth(1).getByText(`bin ${hand}-oldest`).waitFor();
    await person.press(page.getByRole("button", { name: `Assign ${hand}-oldest` }));
    await person.press(page.getByRole("dialog").getByRole("button", { name: /user:root\/bob/ }));
    await page.getByText("1 item assigned to user:root/bob").waitFor();
    await until(
      async () => (await item(shared.server, name, `${hand}-oldest`)).assignee === "user:root/bob",
      "the assignment",
    );
    console.log(`assign the longest waiting by ${hand}: ${person.clicks} clicks, ${person.keys} keys`);
    expect(person.clicks).toBeLessThanOrEqual(3);
  });
}
