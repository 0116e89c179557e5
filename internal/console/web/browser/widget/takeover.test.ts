import { expect, test } from "vitest";
import { until } from "../support/until";
import { fixture } from "./fixture";

const shared = fixture();

test("a leader that the system has frozen is replaced, and follows when it is back", async () => {
  await shared.users("ann");
  const context = await shared.context();
  // The tabs' clocks go right; only that of the tab in front is put forward, and its timers need not be waited for.
  await context.addInitScript(() => {
    const every = window.setInterval.bind(window);
    Object.assign(window, {
      setInterval: (run: () => void, after: number) => every(run, Math.min(after, 200)),
    });
    const now = Date.now.bind(Date);
    let ahead = 0;
    Date.now = () => now() + ahead;
    Object.assign(window, { forward: (by: number) => (ahead += by) });
  });
  const leader = await shared.open(context);
  await until(async () => (await shared.streams()) === 1, "a stream");
  const follower = await shared.open(context);
  await follower.says("No unread notices");
  const holder = () =>
    follower.page.evaluate(async () => (await navigator.locks.query()).held?.map((lock) => lock.clientId));
  const before = await holder();
  expect(before).toHaveLength(1);

  // Stopped by the debugger, it does what a frozen tab does: nothing, with the lock in its hand.
  const debug = await context.newCDPSession(leader.page);
  await debug.send("Debugger.enable");
  const frozen = new Promise((resolve) => debug.once("Debugger.paused", resolve));
  await debug.send("Debugger.pause");
  await frozen;
  await shared.send("ann", "While it is frozen");
  expect(await holder()).toEqual(before);
  await follower.page.evaluate(() => (window as unknown as { forward(by: number): void }).forward(151_000));
  await follower.says("1 unread notice");
  expect(await follower.heard("tallyman-notice")).toEqual(["While it is frozen"]);
  const after = await holder();
  expect(after).toHaveLength(1);
  expect(after).not.toEqual(before);

  await debug.send("Debugger.resume");
  await shared.send("ann", "Afterwards");
  for (const widget of [leader, follower]) {
    await widget.says("2 unread notices");
    expect(await widget.heard("tallyman-notice")).toEqual(["While it is frozen", "Afterwards"]);
  }
  await until(async () => (await shared.streams()) === 1, "one stream again");
  expect(await holder()).toEqual(after);
});
