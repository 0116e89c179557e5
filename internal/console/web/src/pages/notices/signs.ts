import type { IconName } from "../../ui/Icon.svelte";

type Tone = "neutral" | "good" | "warn" | "bad" | "info";

/** How a priority is shown: by a sign and a word, so that colour alone tells nothing. */
export const priorities: Readonly<
  Record<number, { word: "p1" | "p2" | "p3" | "p4" | "p5"; icon: IconName; tone: Tone }>
> = {
  5: { word: "p5", icon: "error", tone: "bad" },
  4: { word: "p4", icon: "up", tone: "warn" },
  3: { word: "p3", icon: "dot", tone: "neutral" },
  2: { word: "p2", icon: "down", tone: "neutral" },
  1: { word: "p1", icon: "down", tone: "neutral" },
};

/** How a status is shown. */
export const statuses: Readonly<
  Record<"firing" | "resolved" | "event" | "sent", { icon: IconName; tone: Tone }>
> = {
  firing: { icon: "notices", tone: "info" },
  resolved: { icon: "check", tone: "good" },
  event: { icon: "dot", tone: "info" },
  sent: { icon: "deliveries", tone: "neutral" },
};
