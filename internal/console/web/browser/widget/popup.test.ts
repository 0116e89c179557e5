import { expect, test } from "vitest";
import { until } from "../support/until";
import { fixture, type Widget } from "./fixture";

const shared = fixture();

const shows = (widget: Widget, title: string) => widget.popup.getByRole("heading", { name: title }).waitFor();
const closes = (widget: Widget) => widget.popup.waitFor({ state: "detached" });

test("a popup is acked on the server and closed in other tabs and in another browser", async () => {
  await shared.users("ann");
  const here = await shared.context();
  const widgets = [
    await shared.open(here),
    await shared.open(here),
    await shared.open(await shared.context()),
  ];
  for (const widget of widgets) {
    await widget.says("No unread notices");
  }
  const id = await shared.send("ann", "Stop", { modal: "popup" });
  for (const widget of widgets) {
    await shows(widget, "Stop");
  }
  await widgets[0]!.popup.getByText("Replenishment notice").waitFor();
  expect(await widgets[0]!.popup.getAttribute("aria-describedby")).toContain("popup-body");
  await widgets[0]!.popup.getByRole("button", { name: "Acknowledge" }).click();
  for (const widget of widgets) {
    await closes(widget);
    await widget.says("No unread notices");
  }
  const trace = await shared.server.call<{ marks: { kind: string; user: string }[] }>(
    "GET",
    `/api/v1/notices/${id}`,
  );
  expect(trace.marks).toContainEqual(expect.objectContaining({ kind: "acked", user: "user:ann" }));
});

test("popups come one at a time, the most urgent first, and Enter of a scanner acks none", async () => {
  await shared.users("bob");
  await shared.send("bob", "Low", { modal: "popup", priority: 2 });
  await shared.send("bob", "High", { modal: "popup", priority: 5 });
  await shared.delivered("bob", 2); // or the first one is shown already
  const widget = await shared.open(await shared.context(), { user: "bob" });
  await shows(widget, "High");
  expect(await widget.popup.count()).toBe(1);
  await widget.popup.getByText("1 more is waiting").waitFor();
  await widget.page.keyboard.press("Enter");
  await shared.send("bob", "After the Enter");
  await widget.says("3 unread notices, 1 urgent");
  await shows(widget, "High");
  await widget.popup.getByRole("button", { name: "Acknowledge" }).click();
  await shows(widget, "Low");
  await widget.page.keyboard.press("Escape");
  await closes(widget);
  await widget.page.reload();
  await shows(widget, "Low"); // Esc is for later, not for good
});

test("Esc puts a popup off in all tabs, also where nobody has touched the page", async () => {
  await shared.users("lea");
  const context = await shared.context();
  const widgets = [await shared.open(context, { user: "lea" }), await shared.open(context, { user: "lea" })];
  await shared.send("lea", "Stop", { modal: "popup" });
  for (const widget of widgets) {
    await shows(widget, "Stop");
  }
  await widgets[1]!.page.keyboard.press("Escape");
  for (const widget of widgets) {
    await closes(widget);
    await widget.says("1 unread notice");
  }
  await widgets[0]!.page.reload();
  await shows(widgets[0]!, "Stop");
});

test("the focus goes back to where it was", async () => {
  await shared.users("fay");
  const widget = await shared.open(await shared.context(), { user: "fay" });
  await widget.says("No unread notices");
  await widget.page.locator("#scan").focus();
  await shared.send("fay", "Stop", { modal: "popup" });
  await shows(widget, "Stop");
  await widget.popup.getByRole("button", { name: "Acknowledge" }).click();
  await closes(widget);
  await until(
    () => widget.page.locator("#scan").evaluate((field) => field.matches(":focus")),
    "the focus on the field",
  );
});

test("a popup that expires closes", async () => {
  await shared.users("eve");
  const context = await shared.context();
  await context.clock.install();
  const widget = await shared.open(context, { user: "eve" });
  await shared.send("eve", "Short", { modal: "popup", expires: "1h" });
  await shows(widget, "Short");
  await context.clock.fastForward("01:00:01");
  await closes(widget);
});

test("an ack that the server refuses is taken back, and says so", async () => {
  await shared.users("ron");
  const context = await shared.context();
  const widget = await shared.open(context, { user: "ron" });
  await widget.says("No unread notices");
  await shared.send("ron", "Stop", { modal: "popup" });
  await shows(widget, "Stop");
  context.faults.expect(/503/);
  const refusal = {
    code: "ledger_unavailable",
    detail: "the ledger did not answer",
    status: 503,
    title: "Service Unavailable",
  };
  const headers = {
    "Access-Control-Allow-Origin": shared.site.origin,
    "Content-Type": "application/problem+json",
  };
  await context.route("**/ack?*", (route) =>
    route.request().method() === "POST"
      ? route.fulfill({ status: 503, headers, body: JSON.stringify(refusal) })
      : route.fallback(),
  );
  await widget.popup.getByRole("button", { name: "Acknowledge" }).click();
  await widget.popup.getByText("Not acknowledged: the ledger did not answer").waitFor();
  await widget.says("1 unread notice");
  await context.unroute("**/ack?*");
  await widget.popup.getByRole("button", { name: "Acknowledge" }).click();
  await closes(widget);
  await widget.says("No unread notices");
});
