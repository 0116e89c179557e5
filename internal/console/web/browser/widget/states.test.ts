import { expect, test } from "vitest";
import { until } from "../support/until";
import { fixture } from "./fixture";

const shared = fixture();

test("it polls where streams are blocked", async () => {
  await shared.users("ann");
  const context = await shared.context();
  context.faults.expect(/ERR_FAILED/);
  await context.route("**/notices/stream?*", (route) => route.abort());
  const polls: string[] = [];
  context.on("request", (request) => {
    if (request.url().includes("wait=25s")) {
      polls.push(request.url());
    }
  });
  const widget = await shared.open(context);
  await until(() => polls.length > 0, "a poll that waits");
  await shared.send("ann", "One");
  await widget.says("1 unread notice");
  await widget.bell.click();
  await widget.lists("One");
  await widget.page.getByText(/Updated .*, by regular polling/).waitFor();
  expect(await shared.streams()).toBe(0);
});

test("it polls where something in between makes a page of a stream", async () => {
  await shared.users("pia");
  const context = await shared.context();
  const headers = { "Access-Control-Allow-Origin": shared.site.origin, "Content-Type": "text/html" };
  await context.route("**/notices/stream?*", (route) =>
    route.fulfill({ status: 200, headers, body: "<p>Welcome</p>" }),
  );
  const widget = await shared.open(context, { user: "pia" });
  await widget.bell.click();
  await widget.page.getByText(/by regular polling/).waitFor();
  await shared.send("pia", "One");
  await widget.says("1 unread notice");
});

test("nothing, no entry, not signed in and no server have words of their own", async () => {
  await shared.users("uma");
  const context = await shared.context();
  context.faults.expect(/40[13]/, /ERR_FAILED/, /ERR_INTERNET_DISCONNECTED/);
  const says = async (widget: Awaited<ReturnType<typeof shared.open>>, words: string) => {
    await widget.bell.click();
    await widget.page.getByText(words).waitFor();
    await widget.page.close();
  };
  await says(await shared.open(context, { user: "uma" }), "No notices. New notices appear here.");
  await says(await shared.open(context, { user: "nobody" }), "You are not signed in to the notice server.");
  await says(
    await shared.open(context, { user: "uma", attributes: 'subscribers="user:ann"' }),
    "You may not see these notices.",
  );
  await context.route("**/api/v1/**", (route) => route.abort());
  await says(
    await shared.open(context, { user: "uma", attributes: 'locale="en-US"' }),
    "The notice server cannot be reached.",
  );
});

test("offline it says so, and comes back by itself", async () => {
  await shared.users("off");
  const context = await shared.context();
  context.faults.expect(/ERR_INTERNET_DISCONNECTED|ERR_FAILED/);
  const widget = await shared.open(context, { user: "off" });
  await shared.send("off", "One");
  await widget.says("1 unread notice");
  await widget.bell.click();
  await context.setOffline(true);
  await widget.page.getByText("This device is offline.").waitFor();
  await widget.lists("One");
  await shared.send("off", "Two");
  await context.setOffline(false);
  await widget.says("2 unread notices");
  await widget.page.getByText("This device is offline.").waitFor({ state: "detached" });
});

test("a token that was revoked is asked for anew", async () => {
  await shared.users("tia");
  const widget = await shared.open(await shared.context(), { user: "tia" });
  await widget.says("No unread notices");
  const { tokens } = await shared.server.call<{ tokens: { id: string; subject: string }[] }>(
    "GET",
    "/api/v1/tokens",
  );
  const { id } = tokens.find((token) => token.subject === "user:tia")!;
  await shared.users("tia");
  const { asked } = shared.site;
  await shared.server.call("POST", `/api/v1/tokens/${id}/revoke`);
  await until(() => shared.site.asked > asked, "the page to be asked for a token");
  await shared.send("tia", "One");
  await widget.says("1 unread notice");
});
