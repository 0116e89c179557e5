import { afterEach, expect, test, vi } from "vitest";
import { session } from "./session.svelte";

afterEach(() => {
  session.logout();
  vi.unstubAllGlobals();
});

test("who was logged out by the server is still told so when a question without a token is refused", async () => {
  vi.stubGlobal("fetch", () => Promise.resolve(new Response("{}", { status: 401 })));
  session.token = "secret";
  session.refused("secret"); // as the live stream says first
  await session.start(); // as the page does that has revoked it
  expect([session.state, session.ended]).toEqual(["out", true]);
});

test("who logs out himself is not told that his token has ended", async () => {
  vi.stubGlobal("fetch", () => Promise.resolve(new Response("{}", { status: 401 })));
  session.token = "secret";
  session.logout();
  await session.start();
  expect([session.state, session.ended]).toEqual(["out", false]);
});
