import { expect, test } from "vitest";
import type { Schemas } from "../../api/client";
import { oldest, way, wrong } from "./wrong";

const well = {
  rules: { ok: 12, degraded: 0, failing: 0, unverified: 0, late: 0, waiting: 1, disabled: 2, shadow: 1 },
  problems: 0,
  queues: [{ name: "work", dead: 0, paused: false }],
  sinks: [{ name: "inbox", ok: true, deliveries: { failed: 0 } }],
  nodes: [{ name: "one" }],
  health: [{ part: "ledger", ok: true }],
} as unknown as Schemas["Overview"];

const ids = (change: object) => wrong({ ...well, ...change }).map((each) => each.id);

test("nothing is wrong where all is well; rules that wait or are off are no fault", () => {
  expect(wrong(well)).toEqual([]);
});

test("what has failed stands before what is worth a look", () => {
  expect(
    ids({
      rules: { ...well.rules, failing: 2, degraded: 1, unverified: 3, late: 1 },
      problems: 4,
      paused: { by: "user:ann", at: "2026-06-01T00:00:00Z" },
      queues: [{ name: "work", dead: 4, paused: true, pausedBy: "user:bo" }],
      nodes: [{ name: "one" }, { name: "two", differs: true }],
      health: [{ part: "source", name: "wms", ok: false, error: "refused" }],
    }),
  ).toEqual([
    "part source wms",
    "failing",
    "unverified",
    "late",
    "problems",
    "paused",
    "degraded",
    "dead work",
    "pause work",
    "node two",
  ]);
});

test("refused commits are told with what the ledger says", () => {
  const error = "runs: 5 refused: the disk of the ledger is full";
  const found = wrong({
    ...well,
    health: [{ part: "commits", ok: false, error }],
  } as unknown as Schemas["Overview"]);
  expect(found.map(({ text, tone, error }) => [text, tone, error])).toEqual([["wrongCommits", "bad", error]]);
});

test("a sink that health tells of is told once", () => {
  const sinks = [
    { name: "sms", deliveries: { failed: 0 }, ok: false, error: "refused" },
    {
      name: "mail",
      deliveries: { failed: 0 },
      ok: false,
      push: { breaker: { since: "2026-06-01T00:00:00Z" }, lastError: "451" },
    },
  ];
  const found = wrong({
    ...well,
    sinks,
    health: [{ part: "sink", name: "sms", ok: false, error: "refused" }],
  } as unknown as Schemas["Overview"]);
  expect(found.map((each) => [each.id, each.error])).toEqual([
    ["part sink sms", "refused"],
    ["sink mail", "451"],
  ]);
  expect(found[1]?.href).toBe("/deliveries?sink=mail");
});

test("each is told by the clock that noted it", () => {
  const at = "2026-06-01T00:00:00Z";
  const found = wrong({
    ...well,
    paused: { by: "user:ann", at },
    health: [{ part: "ledger", ok: false, since: at }],
    sinks: [{ name: "mail", deliveries: { failed: 0 }, ok: false, push: { breaker: { since: at } } }],
    queues: [{ name: "work", dead: 0, paused: true, pausedAt: at }],
  } as unknown as Schemas["Overview"]);
  expect(found.map(({ id, since, machine = false }) => [id, since, machine])).toEqual([
    ["part ledger ", at, true],
    ["sink mail", at, true],
    ["paused", at, false],
    ["pause work", at, true],
  ]);
});

test("parts that could not be looked up are told", () => {
  expect(wrong({ ...well, stale: ["findings"] })).toMatchObject([
    { id: "stale findings", tone: "bad", text: "wrongStale", values: { part: "findings" } },
  ]);
});

test("a delivery that waits for ten minutes is told, though the sink is well", () => {
  const at = "2026-06-01T00:00:00Z";
  expect(
    ids({ sinks: [{ name: "sms", deliveries: { failed: 0 }, ok: true, oldest: at, oldestSeconds: 599 }] }),
  ).toEqual([]);
  expect(
    ids({ sinks: [{ name: "sms", deliveries: { failed: 0 }, ok: true, oldest: at, oldestSeconds: 600 }] }),
  ).toEqual(["oldest sms"]);
});

test("deliveries that a sink has given up are told, with the way to try them again", () => {
  const found = wrong({
    ...well,
    sinks: [{ name: "sms", ok: true, deliveries: { failed: 10 } }],
  } as unknown as Schemas["Overview"]);
  expect(found.map(({ id, tone, values, href = "" }) => [id, tone, values["count"], way(href)])).toEqual([
    ["failed sms", "warn", 10, "toDeliveries"],
  ]);
});

test("the oldest of what is wrong is known, where anything says since when", () => {
  const all = wrong({
    ...well,
    paused: { by: "user:ann", at: "2026-06-01T00:05:00Z" },
    health: [{ part: "ledger", ok: false, since: "2026-06-01T00:01:00Z" }],
  } as unknown as Schemas["Overview"]);
  expect(oldest(all)).toEqual({ at: "2026-06-01T00:01:00Z", machine: true });
  expect(oldest([])).toBeUndefined();
});

test("everything that is wrong says since when", () => {
  const at = "2026-06-01T00:00:00Z";
  const found = wrong({
    ...well,
    rules: {
      ...well.rules,
      failing: 1,
      failingSince: at,
      degraded: 1,
      degradedSince: at,
      unverified: 1,
      unverifiedSince: at,
      late: 1,
      lateSince: at,
    },
    problems: 1,
    problemsSince: at,
    paused: { by: "user:ann", at },
    stale: ["rules"],
    staleSince: at,
    queues: [{ name: "work", dead: 4, deadSince: at, paused: true, pausedBy: "user:bo", pausedAt: at }],
    sinks: [
      {
        name: "sms",
        ok: false,
        deliveries: { failed: 1 },
        failedSince: at,
        oldest: at,
        oldestSeconds: 900,
        push: { breaker: { since: at } },
      },
    ],
    node: "one",
    nodes: [
      { name: "one", changed: at },
      { name: "two", changed: "2026-05-31T00:00:00Z", differs: true },
    ],
    health: [{ part: "source", name: "wms", ok: false, error: "refused", since: at }],
  } as unknown as Schemas["Overview"]);
  expect(found.map(({ id, since }) => [id, since])).toEqual(found.map(({ id }) => [id, at]));
  expect(found).toHaveLength(14);
});
