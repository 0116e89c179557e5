import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FakeChannels, FakeLocks } from "./fakes";
import { aNotice, noon } from "./fixtures";
import { Leader } from "./leader";
import { Refusal } from "./refusal";
import { type Health, Share } from "./share";
import { Store } from "./store";
import type { Batch, Notice } from "./types";

beforeEach(() => {
  vi.useFakeTimers({ now: noon });
  vi.spyOn(Math, "random").mockReturnValue(1);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** The tabs of one browser. */
class Tabs {
  readonly locks = new FakeLocks();
  readonly channels = new FakeChannels();

  open(work: (tab: Tab, term: AbortSignal) => Promise<void> = until) {
    const tab = new Tab(this, work);
    return tab;
  }
}

class Tab {
  readonly store = new Store();
  readonly arrivals: string[] = [];
  readonly later: string[] = [];
  woken = 0;
  readonly channel;
  readonly share: Share;
  readonly leader: Leader;
  health: Health | undefined;
  private readonly life = new AbortController();
  private readonly done: Promise<void>;

  constructor(tabs: Tabs, work: (tab: Tab, term: AbortSignal) => Promise<void>) {
    this.channel = tabs.channels.join();
    this.leader = new Leader("name", tabs.locks);
    this.share = new Share(
      {
        cursor: () => this.store.cursor,
        loaded: () => this.store.loaded,
        snapshot: () => this.store.snapshot(),
        apply: (batch) =>
          this.arrivals.push(...this.store.apply(batch, noon).map((notice: Notice) => notice.id)),
        health: (health) => (this.health = health),
        marked: (changes) => this.store.settle(changes, true),
        later: (id) => this.later.push(id),
        visible: () => true,
        wake: () => this.woken++,
        work: (term) => work(this, term),
      },
      this.leader,
      this.channel,
    );
    this.done = this.share.run(this.life.signal);
  }

  get ids(): string[] {
    return this.store.list().map((entry) => entry.notice.id);
  }

  close(): Promise<void> {
    this.life.abort();
    return this.done;
  }
}

function until(_tab: Tab, term: AbortSignal): Promise<void> {
  return new Promise((resolve) => term.addEventListener("abort", () => resolve()));
}

const batch = (cursor: string, ...ids: string[]): Batch => ({
  notices: ids.map((id) => aNotice(id)),
  cursor,
});

test("the leader tells the others, and one that comes later is told what there is", async () => {
  const tabs = new Tabs();
  const a = tabs.open();
  const b = tabs.open();
  await tabs.locks.settled();
  a.share.take({ reset: true, ...batch("c1", "n1") });
  expect(b.ids).toEqual([]); // it waits for the whole window
  a.share.take({ loaded: true });
  a.share.report("live", true);
  expect(b.ids).toEqual(["n1"]);
  expect(b.arrivals).toEqual([]);
  a.share.take(batch("c2", "n2"));
  expect(b.ids).toEqual(["n1", "n2"]);
  expect(b.arrivals).toEqual(["n2"]);
  expect(b.health).toEqual({ status: "live", heardAt: noon, detail: "" });
  const c = tabs.open();
  expect(c.ids).toEqual(["n1", "n2"]);
  expect(c.store.cursor).toBe("c2");
  expect([a.leader.leads, b.leader.leads, c.leader.leads]).toEqual([true, false, false]);
  await Promise.all([a, b, c].map((tab) => tab.close()));
  expect(tabs.channels.size).toBe(0);
  expect(tabs.locks.held).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
});

test("who takes over goes on from the cursor, and the others follow", async () => {
  const tabs = new Tabs();
  const a = tabs.open();
  const b = tabs.open();
  const c = tabs.open();
  await tabs.locks.settled();
  a.share.take({ reset: true, ...batch("c1", "n1"), loaded: true });
  a.share.take(batch("c2", "n2"));
  await a.close();
  await tabs.locks.settled();
  expect(b.leader.leads).toBe(true);
  expect(b.store.cursor).toBe("c2");
  b.share.take(batch("c3", "n2", "n3")); // what was on its way comes again
  expect(c.ids).toEqual(["n1", "n2", "n3"]);
  expect(c.arrivals).toEqual(["n2", "n3"]);
  await Promise.all([b.close(), c.close()]);
});

test("a tab that was frozen asks for what it missed", async () => {
  const tabs = new Tabs();
  const a = tabs.open();
  const b = tabs.open();
  await tabs.locks.settled();
  a.share.take({ reset: true, ...batch("c1", "n1"), loaded: true });
  b.channel.frozen = true;
  a.share.take(batch("c2", "n2"));
  b.channel.frozen = false;
  a.share.take(batch("c3", "n3"));
  expect(b.ids).toEqual(["n1", "n2", "n3"]);
  expect(b.arrivals).toEqual(["n2", "n3"]);
  a.share.take(batch("c4", "n4"));
  expect(b.arrivals).toEqual(["n2", "n3", "n4"]);
  await Promise.all([a.close(), b.close()]);
});

test("a leader that falls silent is replaced", async () => {
  const tabs = new Tabs();
  const a = tabs.open();
  const b = tabs.open();
  await tabs.locks.settled();
  a.share.take({ reset: true, ...batch("c1", "n1"), loaded: true });
  await vi.advanceTimersByTimeAsync(170_000);
  expect(b.leader.leads).toBe(false); // its pulse is heard
  b.channel.frozen = true; // as if the leader had been frozen
  await vi.advanceTimersByTimeAsync(180_000);
  expect([a.leader.leads, b.leader.leads]).toEqual([false, true]);
  await Promise.all([a.close(), b.close()]);
});

test("a tab that is not let in steps back for one that is", async () => {
  const tabs = new Tabs();
  let tries = 0;
  const a = tabs.open(() => {
    tries++;
    return Promise.reject(new Refusal("unauthorised", "the token has expired", 401));
  });
  await tabs.locks.settled();
  expect(a.health).toMatchObject({ status: "unauthorised", detail: "the token has expired" });
  await vi.advanceTimersByTimeAsync(5000);
  expect(tries).toBe(2);
  const b = tabs.open();
  await tabs.locks.settled();
  expect(b.leader.leads).toBe(true);
  b.share.take({ reset: true, ...batch("c1", "n1"), loaded: true });
  b.share.report("live", true);
  expect(a.health?.status).toBe("live");
  expect(a.ids).toEqual(["n1"]);
  await Promise.all([a.close(), b.close()]);
});

test("what the user does in one tab shows in the others", async () => {
  const tabs = new Tabs();
  const a = tabs.open();
  const b = tabs.open();
  await tabs.locks.settled();
  a.share.take({ reset: true, ...batch("c1", "n1"), loaded: true });
  b.share.send({ kind: "marked", changes: [{ id: "n1", kind: "acked" }] });
  b.share.send({ kind: "later", id: "n1", until: noon });
  expect(a.store.get("n1")?.notice).toMatchObject({ read: true, acked: true });
  expect(a.later).toEqual(["n1"]);
  b.share.retry(); // of which it is the leader that waits
  expect(a.woken).toBe(1);
  await Promise.all([a.close(), b.close()]);
});
