import type { IconName } from "./Icon.svelte";

type Tone = "neutral" | "good" | "warn" | "bad" | "info";

/** How a state looks on every page. The icon shows the state to readers who see no colours. */
export interface Look {
  tone: Tone;
  icon: IconName;
}

/** Priorities, 5 is the highest. */
export const priorityLooks: Readonly<Record<number, Look>> = {
  5: { tone: "bad", icon: "error" },
  4: { tone: "warn", icon: "up" },
  3: { tone: "neutral", icon: "dot" },
  2: { tone: "neutral", icon: "down" },
  1: { tone: "neutral", icon: "down" },
};

/** The status of a notice. */
export const statusLooks = {
  firing: { tone: "bad", icon: "notices" },
  resolved: { tone: "good", icon: "check" },
  event: { tone: "info", icon: "dot" },
  sent: { tone: "neutral", icon: "deliveries" },
} as const satisfies Record<string, Look>;

/** The state of a delivery. */
export const deliveryLooks = {
  pending: { tone: "info", icon: "clock" },
  sent: { tone: "good", icon: "check" },
  failed: { tone: "bad", icon: "error" },
  timed_out: { tone: "warn", icon: "clock" },
  canceled: { tone: "neutral", icon: "close" },
} as const satisfies Record<string, Look>;

/** The state of an item of a queue, and the lists beside the states. */
export const itemLooks = {
  ready: { tone: "info", icon: "play" },
  assigned: { tone: "info", icon: "user" },
  leased: { tone: "good", icon: "refresh" },
  delayed: { tone: "neutral", icon: "clock" },
  suspended: { tone: "warn", icon: "pause" },
  stored: { tone: "neutral", icon: "queues" },
  dead: { tone: "bad", icon: "error" },
  withheld: { tone: "warn", icon: "error" },
  done: { tone: "good", icon: "check" },
  removed: { tone: "neutral", icon: "trash" },
  refused: { tone: "neutral", icon: "close" },
} as const satisfies Record<string, Look>;
