import { describe, expect, test } from "vitest";
import { aNotice, noon } from "./fixtures";
import { Store } from "./store";

const ids = (store: Store) => store.list().map((entry) => entry.notice.id);

function loaded(...notices: ReturnType<typeof aNotice>[]): Store {
  const store = new Store();
  store.apply(
    {
      reset: true,
      notices,
      count: { unread: notices.length, unreadMore: false },
      cursor: "c1",
      loaded: true,
    },
    noon,
  );
  return store;
}

describe("what comes", () => {
  test("the first window is nothing new, what follows is, once", () => {
    const store = new Store();
    expect(store.apply({ notices: [aNotice("a")], cursor: "c1" }, noon)).toEqual([]);
    expect(store.apply({ older: [aNotice("old")], loaded: true }, noon)).toEqual([]);
    expect(
      store.apply({ notices: [aNotice("a"), aNotice("b")], cursor: "c2" }, noon).map((each) => each.id),
    ).toEqual(["b"]);
    expect(ids(store)).toEqual(["old", "a", "b"]);
    expect(store.cursor).toBe("c2");
  });

  test("after a reset the same notices are there, and not new", () => {
    const store = loaded(aNotice("a"), aNotice("b"));
    expect(
      store
        .apply({ reset: true, notices: [aNotice("b"), aNotice("c")], cursor: "c9" }, noon)
        .map((each) => each.id),
    ).toEqual(["c"]);
    expect(ids(store)).toEqual(["b", "c"]);
  });

  test("what has expired does not come, and goes", () => {
    const store = loaded(
      aNotice("a"),
      aNotice("soon", { expiresAt: "2026-06-01T12:00:05Z" }),
      aNotice("gone", { expiresAt: "2026-06-01T11:00:00Z" }),
    );
    expect(ids(store)).toEqual(["a", "soon"]);
    expect(store.expire(noon + 4000)).toBe(false);
    expect(store.expire(noon + 5000)).toBe(true);
    expect(ids(store)).toEqual(["a"]);
    expect(store.counts().unread).toBe(2); // of the three that the server had counted
  });

  test("the oldest go when there are too many", () => {
    const store = loaded(...Array.from({ length: 2100 }, (_, i) => aNotice(`n${i}`)));
    expect(ids(store)).toHaveLength(2000);
    expect(ids(store)[0]).toBe("n100");
  });

  test("popups that wait for an ack stay, and what is loaded between them finds its place", () => {
    const popup = aNotice("popup", { modal: "popup", createTime: 1 });
    const store = loaded(...Array.from({ length: 2000 }, (_, i) => aNotice(`n${i}`)));
    store.apply({ older: [popup], popupsMore: false }, noon);
    expect(ids(store).slice(0, 2)).toEqual(["popup", "n1"]);

    const few = loaded(aNotice("new", { createTime: 9 }));
    few.apply({ older: [aNotice("old", { createTime: 2 }), aNotice("late", { createTime: 6 })] }, noon);
    few.apply({ older: [aNotice("oldest", { createTime: 1 }), aNotice("between", { createTime: 4 })] }, noon);
    expect(ids(few)).toEqual(["oldest", "old", "between", "late", "new"]);
  });

  test("after a reset the popups of before its window are asked for again", () => {
    const store = loaded(aNotice("a"));
    store.apply({ popupsMore: false }, noon);
    expect(store.lacksPopups).toBe(false);
    store.apply({ reset: true, notices: [aNotice("a")], cursor: "c2" }, noon);
    expect(store.lacksPopups).toBe(true);
  });

  test("a snapshot makes another store the same", () => {
    const store = loaded(aNotice("a"), aNotice("b", { read: true }));
    const other = new Store();
    other.apply(store.snapshot(), noon);
    expect(other.snapshot()).toEqual(store.snapshot());
    expect(other.loaded).toBe(true);
  });

  test("a cursor that does not hold means to load anew", () => {
    const store = loaded(aNotice("a"));
    store.apply({ reset: true, cursor: "" }, noon);
    expect(store.loaded).toBe(false);
    expect(store.cursor).toBe("");
  });
});

describe("resolved", () => {
  const life = { rule: "negative-bin", scope: "W1", key: '["A-01"]', episode: "7" };

  test("closes what it resolves and nothing else", () => {
    const store = loaded(
      aNotice("firing", { ...life, status: "firing", priority: 5 }),
      aNotice("next", { ...life, status: "firing", episode: "8" }),
      aNotice("sent"),
    );
    expect(store.counts().urgent).toBe(1);
    store.apply({ notices: [aNotice("over", { ...life, status: "resolved" })] }, noon);
    expect(store.get("firing")?.resolved).toBe(true);
    expect(store.get("next")?.resolved).toBe(false);
    expect(store.get("sent")?.resolved).toBe(false);
    expect(store.counts().urgent).toBe(0);
  });

  test("an older one that is loaded afterwards is resolved, too", () => {
    const store = loaded(aNotice("over", { ...life, status: "resolved" }));
    store.apply({ older: [aNotice("firing", { ...life, status: "firing" })] }, noon);
    expect(store.get("firing")?.resolved).toBe(true);
  });
});

describe("marks", () => {
  test("show at once, are kept when the server agrees and taken back when it does not", () => {
    const store = loaded(aNotice("a", { priority: 4 }), aNotice("b"));
    expect(store.counts()).toEqual({ unread: 2, more: false, urgent: 1 });
    store.ask("a", "acked");
    expect(store.counts()).toEqual({ unread: 1, more: false, urgent: 0 });
    expect(store.isAcked(store.get("a")!)).toBe(true);
    store.settle([{ id: "a", kind: "acked" }], false);
    expect(store.counts()).toEqual({ unread: 2, more: false, urgent: 1 });
    store.ask("a", "acked");
    store.settle([{ id: "a", kind: "acked" }], true);
    expect(store.counts()).toEqual({ unread: 1, more: false, urgent: 0 });
  });

  test("count once, whether the server's word comes before its answer or after", () => {
    const store = loaded(aNotice("a"), aNotice("b"));
    store.ask("a", "read");
    store.apply({ changes: [{ id: "a", kind: "read" }] }, noon);
    expect(store.counts().unread).toBe(1);
    store.apply({ count: { unread: 1, unreadMore: false } }, noon);
    store.settle([{ id: "a", kind: "read" }], true);
    expect(store.counts().unread).toBe(1);
  });

  test("more than 999 stay more than 999", () => {
    const store = loaded(aNotice("a"));
    store.apply({ count: { unread: 999, unreadMore: true } }, noon);
    store.ask("a", "read");
    expect(store.counts()).toMatchObject({ unread: 999, more: true });
  });

  test("a read does not take an ack back", () => {
    const store = loaded(aNotice("a"));
    store.ask("a", "acked");
    store.ask("a", "read");
    expect(store.isAcked(store.get("a")!)).toBe(true);
    expect(store.unreadIds()).toEqual([]);
  });
});
