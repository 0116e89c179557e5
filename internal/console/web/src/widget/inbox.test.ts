import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Inbox } from "./inbox";

beforeEach(() => {
  vi.stubGlobal("addEventListener", vi.fn());
  vi.stubGlobal("document", { addEventListener: vi.fn(), hidden: false });
  vi.stubGlobal("navigator", {});
});
afterEach(() => vi.unstubAllGlobals());

test("a new connection keeps nothing of the user before", () => {
  const host = { draw: vi.fn(), notice: vi.fn(), open: () => true, unread: vi.fn() };
  const inbox = new Inbox(host);
  const place = { server: "http://127.0.0.1", warehouse: "", subscribers: [], language: "" };
  // The provider never answers, so no request is made.
  const settings = { place, provider: () => new Promise<string>(() => {}), language: "en" };
  inbox.connect(settings);
  const fresh = JSON.stringify({ ...inbox, health: undefined, now: 0, clock: 0, connection: 0 });
  inbox.update({
    announcement: "New: bin A-01 is at -3",
    current: "n1",
    failure: "no",
    older: "none",
    asking: true,
    filter: { unread: true, urgent: true, type: "REP_NOTICE" },
  });
  inbox["expanded"].add("n1");
  inbox.connect(settings);
  expect(inbox["expanded"].size).toBe(0);
  expect(JSON.stringify({ ...inbox, health: undefined, now: 0, clock: 0, connection: 0 })).toBe(fresh);
  inbox.stop();
});
