import { absolute } from "../../lib/moment";
import { preferences } from "../../lib/preferences.svelte";
import type { Delivery } from "./model";
import { t } from "./text";

/** Describes a strategy in words. */
export function strategyText(strategy: Delivery["strategy"]): string {
  if (!strategy) return t("untilTaken");
  if (strategy.kind === "timed") return t("timed", { within: strategy.within ?? "" });
  if (strategy.until) return t("untilSent");
  if (strategy.kind !== "delayed") return t(strategy.kind);
  const parts = [t("delayed")];
  if (strategy.delay) parts.push(t("after", { delay: strategy.delay }));
  if (strategy.at) parts.push(t("at", { at: absolute(preferences.locale, Date.parse(strategy.at)) }));
  if (strategy.retry) parts.push(t("retries", { count: strategy.retry }));
  if (strategy.unless) parts.push(t(`unless_${strategy.unless}`));
  return parts.join(", ");
}
