import { expect, test } from "vitest";
import { changeOf, draftOf, inDays, liveOf, readDraft, type QueueSettings } from "./settings";

const values = { timezone: "UTC", dedupe: "day", lease: "1m", maxAttempts: 5, suspendSteps: ["2h", "12h"] };
const settings: QueueSettings = {
  queue: "q",
  inForce: { ...values, lease: "24h", maxAttempts: 0 },
  configured: values,
  live: ["lease", "maxAttempts"],
};

test("what is live is what an operator has set", () => {
  expect(liveOf(settings)).toEqual({ lease: "24h", maxAttempts: 0 });
  expect(liveOf({ ...settings, live: [] })).toEqual({});
});

test("a change names what differs, and its undo the way back", () => {
  const was = { lease: "24h", maxAttempts: 0 };
  const is = { lease: "24h", suspendSteps: [] };
  expect(changeOf(was, is)).toEqual({ suspendSteps: [], reset: ["maxAttempts"] });
  expect(changeOf(is, was)).toEqual({ maxAttempts: 0, reset: ["suspendSteps"] });
  expect(changeOf(was, { ...was })).toBeUndefined();
});

test("the form shows what is in force, and reads what is written", () => {
  const draft = draftOf(settings);
  expect(draft).toEqual({
    lease: { configured: false, text: "1d" },
    maxAttempts: { configured: false, text: "" },
    suspendSteps: { configured: true, text: "2h, 12h" },
  });
  draft.lease.text = " 90s ";
  draft.maxAttempts.text = "7";
  draft.suspendSteps = { configured: false, text: "30m，1d" };
  expect(readDraft(draft)).toEqual({
    live: { lease: "90s", maxAttempts: 7, suspendSteps: ["30m", "1d"] },
    faults: [],
  });
  draft.maxAttempts.text = "";
  draft.suspendSteps.text = " ";
  expect(readDraft(draft).live).toMatchObject({ maxAttempts: 0, suspendSteps: [] });
  draft.lease.configured = true;
  expect(readDraft(draft).live).not.toHaveProperty("lease");
});

test.each([
  ["lease", ""],
  ["lease", "2"],
  ["lease", "0s"],
  ["lease", "25h"],
  ["lease", "2w"],
  ["maxAttempts", "0"],
  ["maxAttempts", "-1"],
  ["maxAttempts", "1.5"],
  ["maxAttempts", "none"],
  ["suspendSteps", "2h,"],
  ["suspendSteps", "2h, soon"],
  ["suspendSteps", "367d"],
  ["suspendSteps", Array(101).fill("1h").join(",")],
] as const)("%s cannot be %j", (name, text) => {
  const draft = draftOf(settings);
  draft[name] = { configured: false, text };
  expect(readDraft(draft).faults).toEqual([name]);
  draft[name].configured = true;
  expect(readDraft(draft).faults).toEqual([]);
});

test.each([
  ["24h", "1d"],
  ["36h30m", "1d12h30m"],
  ["23h", "23h"],
  ["48h0.5s", "2d0.5s"],
  ["1m", "1m"],
])("%s is %s", (text, want) => expect(inDays(text)).toBe(want));
