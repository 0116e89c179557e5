import { expect, test } from "vitest";
import { KeyboardPerson, MousePerson, type Person } from "../support/clicks";
import { axeBoth, consoleFixture } from "../support/console";
import { until } from "../support/until";
import { Receiver } from "./receiver";

const receiver = await Receiver.start();
const shared = consoleFixture({
  config: `sinks:
  inbox: {type: inbox}
${receiver.hook("gateway")}${receiver.hook("carrier")}`,
});

const states = async (sink: string) => {
  const { deliveries } = await shared.server.call<{ deliveries: { title: string; state: string }[] }>(
    "GET",
    `/api/v1/deliveries?sink=${sink}`,
  );
  return new Map(deliveries.map(({ title, state }) => [title, state]));
};
const send = (title: string, sink: string) =>
  shared.server.send({
    type: "REP_NOTICE",
    warehouse: "119240",
    title,
    data: { bin: "A-01" },
    deliver: [{ sink, strategy: "immediate" }],
  });
const fails = (title: string, sink: string) =>
  until(async () => (await states(sink)).get(title) === "failed", `${title} to fail`);

for (const hand of ["mouse", "keyboard"] as const) {
  test(`by ${hand}: what failed for one cause is tried again, and what was refused for good is not`, async () => {
    const [overload, refused] = [`${hand} overload`, `${hand} refused`];
    receiver.answers.set("/gateway", 503);
    await send(overload, "gateway");
    await fails(overload, "gateway");
    receiver.answers.set("/gateway", 400);
    await send(refused, "gateway");
    await fails(refused, "gateway");
    receiver.answers.set("/carrier", 500);
    await send(`${hand} other sink`, "carrier");
    await fails(`${hand} other sink`, "carrier");
    receiver.answers.delete("/gateway");

    const { page } = await shared.open("/deliveries");
    const person: Person = hand === "mouse" ? new MousePerson() : new KeyboardPerson(page);
    if (hand === "mouse") await person.press(page.getByRole("tab", { name: /^Failed/ }));
    else
      await person.pressAt(
        page.getByRole("tab", { name: /^All/ }),
        { x: 0, y: 0 },
        Array<string>(3).fill("ArrowRight"),
      );
    const again = page.getByRole("region", { name: "May work again" });
    await again.getByRole("button", { name: /Try .* gateway, answered 503/ }).waitFor();
    await page.getByRole("region", { name: "Refused for good" }).getByText("answered 400").waitFor();
    if (hand === "mouse") await axeBoth(page);
    await person.press(again.getByRole("button", { name: /Try .* gateway, answered 503/ }));
    await person.press(page.getByRole("dialog").getByRole("button", { name: "Try all again" }));
    await until(async () => (await states("gateway")).get(overload) === "sent", "the retry");
    expect((await states("gateway")).get(refused)).toBe("failed");
    expect((await states("carrier")).get(`${hand} other sink`)).toBe("failed");
    console.log(`retry one cause by ${hand}: ${person.clicks} clicks, ${person.keys} keys`);
    expect(person.clicks).toBeLessThanOrEqual(3);
  });
}
