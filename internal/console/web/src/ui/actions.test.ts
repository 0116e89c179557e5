import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Failure } from "../api/failure";
import { actions, type Answer } from "./actions.svelte";

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  actions.toasts = [];
  vi.useRealTimers();
});

test("an action without a question runs at once and offers its undo until it is dismissed", async () => {
  const undo = vi.fn(() => Promise.resolve());
  const after = vi.fn();
  expect(await actions.run({ run: () => Promise.resolve(7), done: (n) => `did ${n}`, undo, after })).toBe(
    true,
  );
  expect(actions.toasts.map((toast) => toast.text)).toEqual(["did 7"]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(actions.toasts).toHaveLength(1);
  await actions.toasts[0]?.undo?.();
  expect(undo).toHaveBeenCalledWith(7);
  expect(after).toHaveBeenCalledTimes(2);
  expect(actions.toasts).toHaveLength(0);
});

test("a toast without an undo goes by itself", async () => {
  await actions.run({ run: () => Promise.resolve(), done: "done" });
  expect(actions.toasts).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(actions.toasts).toHaveLength(0);
});

test("a question is answered before anything happens, and says whether there is an undo", async () => {
  const run = vi.fn(() => Promise.resolve());
  const ask = { title: "Remove?", text: "It goes.", action: "Remove" };
  const declined = actions.run({ ask, run, done: "gone" });
  expect(actions.question).toMatchObject({ title: "Remove?", undo: false });
  actions.question?.answer();
  expect(await declined).toBe(false);
  expect(run).not.toHaveBeenCalled();

  const agreed = actions.run({ ask, run, done: "gone", undo: () => Promise.resolve() });
  expect(actions.question).toMatchObject({ undo: true });
  actions.question?.answer({ reason: "old", until: "1h" });
  expect(await agreed).toBe(true);
  expect(run).toHaveBeenCalledWith({ reason: "old", until: "1h" });
});

test("a second question takes the place of the first, which counts as declined", async () => {
  const run = vi.fn(() => Promise.resolve());
  const first = actions.run({ ask: { title: "1", text: "", action: "" }, run, done: "" });
  const second = actions.run({ ask: { title: "2", text: "", action: "" }, run, done: "" });
  expect(await first).toBe(false);
  actions.question?.answer({ reason: "", until: "" });
  expect(await second).toBe(true);
  expect(run).toHaveBeenCalledTimes(1);
});

test("a refusal that may be overruled asks a second time, and then runs with force", async () => {
  const run = vi.fn((answer: Answer) =>
    answer.force ? Promise.resolve() : Promise.reject(new Failure("error", 409, "last", "the last one")),
  );
  const overrule = (refusal: Failure) =>
    refusal.code === "last" ? { title: "Really?", text: refusal.message, action: "Revoke" } : undefined;
  const declined = actions.run({ run, overrule, done: "gone" });
  await vi.advanceTimersByTimeAsync(0);
  expect(actions.question).toMatchObject({ title: "Really?", text: "the last one", undo: false });
  actions.question?.answer();
  expect(await declined).toBe(false);
  expect(run).toHaveBeenCalledTimes(1);
  expect(actions.toasts).toHaveLength(0);

  const agreed = actions.run({ run, overrule, done: "gone" });
  await vi.advanceTimersByTimeAsync(0);
  actions.question?.answer({ reason: "", until: "" });
  expect(await agreed).toBe(true);
  expect(run).toHaveBeenLastCalledWith({ reason: "", until: "", force: true });

  const another = () => Promise.reject(new Failure("error", 409, "other", "something else"));
  expect(await actions.run({ run: another, overrule, done: "gone" })).toBe(false);
  expect(actions.toasts.map((toast) => toast.text)).toContain("something else");
});

test("a refusal is shown in the server's words, with its faults, and stays", async () => {
  const after = vi.fn();
  const refused = new Failure("invalid", 422, "x", "the body is wrong", [
    { message: "type: unknown" },
    { message: "the body" },
  ]);
  expect(await actions.run({ run: () => Promise.reject(refused), done: "done", after })).toBe(false);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(actions.toasts).toMatchObject([{ tone: "bad", text: "the body is wrong · type: unknown" }]);
  expect(after).toHaveBeenCalledOnce();
});

test("an undo that fails says so", async () => {
  await actions.run({
    run: () => Promise.resolve(),
    done: "done",
    undo: () => Promise.reject(new Error("too late")),
  });
  await actions.toasts[0]?.undo?.();
  expect(actions.toasts).toMatchObject([{ tone: "bad", text: "too late" }]);
});

test("no more than four toasts are kept", () => {
  for (let i = 1; i <= 6; i++) actions.say("bad", String(i));
  expect(actions.toasts.map((toast) => toast.text)).toEqual(["3", "4", "5", "6"]);
});
