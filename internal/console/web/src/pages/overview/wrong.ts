import type { Schemas } from "../../api/client";

/** Something that is wrong, with a link to the page that shows it. */
export interface Wrong {
  /** Identifies the entry in the list. */
  id: string;
  tone: "bad" | "warn";
  /** A text of this page. `values` fills the text. */
  text: WrongText;
  values: Record<string, string | number>;
  /** What the server says about it. */
  error?: string | undefined;
  /** Since when it is so. */
  since?: string | undefined;
  /** `since` is by the machine's clock: for parts, breakers and queues. */
  machine?: boolean;
  href?: string;
}

/** The text of a link: a text of this page. */
export type WayText = "toRules" | "toDeliveries" | "toQueue" | "toSubscriptions";

export type WrongText =
  | "wrongLedger"
  | "wrongCommits"
  | "wrongDrain"
  | "wrongRedis"
  | "wrongSource"
  | "wrongSink"
  | "wrongRules"
  | "wrongTls"
  | "wrongClock"
  | "wrongRetention"
  | "wrongSubscriptions"
  | "wrongScopes"
  | "wrongFailing"
  | "wrongUnverified"
  | "wrongLate"
  | "wrongRestore"
  | "wrongDegraded"
  | "wrongProblems"
  | "wrongPaused"
  | "wrongOldest"
  | "wrongFailed"
  | "wrongDead"
  | "wrongQueuePaused"
  | "wrongNode"
  | "wrongStale";

type Overview = Schemas["Overview"];

const parts: Record<Schemas["Health"]["part"], WrongText> = {
  ledger: "wrongLedger",
  commits: "wrongCommits",
  redis: "wrongRedis",
  rules: "wrongRules",
  source: "wrongSource",
  sink: "wrongSink",
  restore: "wrongRestore",
  tls: "wrongTls",
  clock: "wrongClock",
  drain: "wrongDrain",
  retention: "wrongRetention",
  subscriptions: "wrongSubscriptions",
  scopes: "wrongScopes",
};

/** Returns all that is wrong, the worst first. */
export function wrong(overview: Overview): Wrong[] {
  const all = [
    ...parted(overview),
    ...ruled(overview),
    ...sunk(overview),
    ...waiting(overview),
    ...failed(overview),
    ...queued(overview),
    ...noded(overview),
  ];
  return [...all.filter((each) => each.tone === "bad"), ...all.filter((each) => each.tone === "warn")];
}

/** Returns the text of a link. */
export function way(href: string): WayText {
  if (href.startsWith("/deliveries")) return "toDeliveries";
  if (href.startsWith("/queues")) return "toQueue";
  return href.startsWith("/subscriptions") ? "toSubscriptions" : "toRules";
}

/** Returns the earliest `since` and its clock; undefined if no entry has one. */
export function oldest(all: readonly Wrong[]): { at: string; machine: boolean } | undefined {
  const [first] = all
    .flatMap(({ since, machine = false }) => (since ? [{ at: since, machine }] : []))
    .sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
  return first;
}

function parted({ health, stale, staleSince }: Overview): Wrong[] {
  const found: Wrong[] = health
    .filter((part) => !part.ok)
    .map(({ part, name = "", error, since }) => ({
      id: `part ${part} ${name}`,
      tone: "bad",
      text: parts[part],
      values: { name },
      error,
      since,
      machine: true,
      ...(part === "subscriptions" && { href: "/subscriptions" }),
      ...(part === "scopes" && { href: "/rules" }),
      ...(part === "sink" && { href: `/deliveries?sink=${encodeURIComponent(name)}` }),
    }));
  return [
    ...found,
    ...(stale ?? []).map((part): Wrong => ({
      id: `stale ${part}`,
      tone: "bad",
      text: "wrongStale",
      values: { part },
      since: staleSince,
      machine: true,
    })),
  ];
}

function ruled({ rules, problems, problemsSince, paused }: Overview): Wrong[] {
  const found: Wrong[] = [];
  if (paused) {
    const { by, at, reason } = paused;
    found.push({
      id: "paused",
      tone: "warn",
      text: "wrongPaused",
      values: { by },
      error: reason,
      since: at,
      href: "/rules",
    });
  }
  for (const [health, text, tone] of [
    ["failing", "wrongFailing", "bad"],
    ["unverified", "wrongUnverified", "bad"],
    ["late", "wrongLate", "bad"],
    ["degraded", "wrongDegraded", "warn"],
  ] as const) {
    const count = rules[health];
    const since = rules[`${health}Since`];
    if (count > 0)
      found.push({ id: health, tone, text, values: { count }, since, href: `/rules?health=${health}` });
  }
  if (problems > 0) {
    found.push({
      id: "problems",
      tone: "bad",
      text: "wrongProblems",
      values: { count: problems },
      since: problemsSince,
      machine: true,
      href: "/rules",
    });
  }
  return found;
}

/** Returns sinks that take no deliveries, except the sinks that `health` already has. */
function sunk({ sinks, health }: Overview): Wrong[] {
  return sinks
    .filter((sink) => !sink.ok && !health.some((part) => !part.ok && part.name === sink.name))
    .map(({ name, error, push }) => ({
      id: `sink ${name}`,
      tone: "bad",
      text: "wrongSink",
      values: { name },
      error: error ?? push?.lastError,
      since: push?.breaker.since,
      machine: true,
      href: `/deliveries?sink=${encodeURIComponent(name)}`,
    }));
}

/** For how many seconds a delivery may wait, as the alert TallymanDeliveriesLate says. */
const oldestWell = 600;

/** Returns sinks whose oldest delivery has waited too long, even if the sink says that it is well. */
function waiting({ sinks }: Overview): Wrong[] {
  return sinks
    .filter((sink) => (sink.oldestSeconds ?? 0) >= oldestWell)
    .map(({ name, oldest }) => ({
      id: `oldest ${name}`,
      tone: "bad",
      text: "wrongOldest",
      values: { name },
      since: oldest,
      href: `/deliveries?sink=${encodeURIComponent(name)}&state=pending`,
    }));
}

/** Returns sinks with failed deliveries, which wait until an operator retries them. */
function failed({ sinks }: Overview): Wrong[] {
  return sinks
    .filter(({ deliveries }) => deliveries.failed > 0)
    .map(({ name, deliveries, failedSince }) => ({
      id: `failed ${name}`,
      tone: "warn",
      text: "wrongFailed",
      values: { name, count: deliveries.failed },
      since: failedSince,
      href: `/deliveries?sink=${encodeURIComponent(name)}&state=failed`,
    }));
}

function queued({ queues }: Overview): Wrong[] {
  return queues.flatMap(({ name, dead, deadSince, paused, pausedAt, pausedBy = "" }) => {
    const href = `/queues/${encodeURIComponent(name)}`;
    const found: Wrong[] = [];
    if (dead > 0) {
      found.push({
        id: `dead ${name}`,
        tone: "warn",
        text: "wrongDead",
        values: { count: dead, name },
        since: deadSince,
        machine: true,
        href: `${href}?state=dead`,
      });
    }
    if (paused) {
      const values = { name, by: pausedBy };
      found.push({
        id: `pause ${name}`,
        tone: "warn",
        text: "wrongQueuePaused",
        values,
        since: pausedAt,
        machine: true,
        href,
      });
    }
    return found;
  });
}

/**
 * Returns nodes that run another version or other rules than the answering node. They differ since the later of the two
 * nodes changed.
 */
function noded({ nodes, node }: Overview): Wrong[] {
  const own = nodes.find(({ name }) => name === node)?.changed ?? "";
  return nodes
    .filter(({ differs }) => differs)
    .map(({ name, version, rules, changed }) => ({
      id: `node ${name}`,
      tone: "warn",
      text: "wrongNode",
      values: { name, version, rules },
      since: Date.parse(own) > Date.parse(changed) ? own : changed,
      machine: true,
    }));
}
