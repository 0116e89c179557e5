import type { Schemas } from "../../api/client";
import { write } from "../silences/matcher";

type Trace = Schemas["NoticeTrace"];

/** Something that happened to a notice or to its finding. */
export type Happening =
  | { kind: "run"; id: string; at: string; run: Schemas["RuleRun"] }
  | { kind: "made"; id: string; at: string }
  | { kind: "told"; id: string; at: string; notice: Schemas["FoundNotice"] }
  | {
      kind: "delivery";
      id: string;
      at: string;
      delivery: Schemas["Delivery"];
      item?: Schemas["NoticeItem"] | undefined;
    }
  | { kind: "mark"; id: string; at: string; mark: Schemas["NoticeMark"] }
  | { kind: "expires"; id: string; at: string };

/** The order of happenings at the same moment. */
const order: Record<Happening["kind"], number> = {
  run: 0,
  made: 1,
  told: 2,
  delivery: 3,
  mark: 4,
  expires: 5,
};

/**
 * Returns the life of a notice in the order of time, from the run that made the notice to the users who have read it.
 */
export function timeline(trace: Trace): Happening[] {
  const { notice, run, episodeNotices, deliveries, items, marks } = trace;
  const all: Happening[] = [
    { kind: "made", id: "made", at: notice.createdAt },
    { kind: "expires", id: "expires", at: notice.expiresAt },
    ...episodeNotices.map((each): Happening => ({
      kind: "told",
      id: each.id,
      at: each.createdAt,
      notice: each,
    })),
    ...deliveries.map((delivery): Happening => ({
      kind: "delivery",
      id: `delivery ${delivery.id}`,
      at: momentOf(delivery, notice.createdAt),
      delivery,
      item: items.find((item) => item.delivery === delivery.id),
    })),
    ...marks.map((mark): Happening => ({
      kind: "mark",
      id: `${mark.user} ${mark.kind} ${mark.at}`,
      at: mark.at,
      mark,
    })),
  ];
  // A run begins before it makes anything, whatever the clock of its source says.
  if (run) all.push({ kind: "run", id: "run", at: earlier(run.started, notice.createdAt), run });
  return all.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at) || order[a.kind] - order[b.kind]);
}

/**
 * Returns when a delivery was sent. For a pending delivery, returns the time of its next attempt. Otherwise returns the
 * time when the notice was made.
 */
function momentOf({ sentAt, state, nextAttempt }: Schemas["Delivery"], createdAt: string): string {
  return sentAt ?? (state === "pending" ? (nextAttempt ?? createdAt) : createdAt);
}

function earlier(a: string, b: string): string {
  return Date.parse(a) < Date.parse(b) ? a : b;
}

/**
 * Returns the subject of a notice: one finding or group, the rule (a digest of many findings), or the type (a business
 * system has sent the notice).
 */
export function subjectOf({ id, rule, key }: Schemas["Notice"]): "finding" | "rule" | "type" {
  if (!rule) return "type";
  return key && !id.startsWith("nd_") ? "finding" : "rule"; // a digest has a key that no finding has
}

/** Returns the address of the form for a new silence of a notice's subject. */
export function silenceOf(notice: Schemas["Notice"]): string {
  const { rule, type, warehouse, scope, key } = notice;
  const matchers = [rule ? `rule=${rule}` : `type=${type}`, `warehouse=${warehouse}`];
  if (rule && scope && scope !== warehouse) matchers.push(`scope=${scope}`);
  if (subjectOf(notice) === "finding") matchers.push(write({ name: "key", op: "=", value: key }));
  return `/silences?create=1&${matchers.map((text) => `matcher=${encodeURIComponent(text)}`).join("&")}`;
}

/** Returns the address of the page that explains the finding of a notice. */
export function whyOf({ rule, scope, key }: Schemas["Notice"]): string {
  const query = new URLSearchParams({ tab: "why", ...(scope && { scope }), key });
  return `/rules/${encodeURIComponent(rule)}?${query.toString()}`;
}
