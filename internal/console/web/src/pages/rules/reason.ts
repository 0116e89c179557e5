import { duration } from "../../lib/moment";
import { preferences } from "../../lib/preferences.svelte";
import { paused, type Scope } from "./model";
import { t } from "./text";

/** Returns the reason for the health of a rule in a scope; undefined if there is nothing to say. */
export function reasonOf(scope: Scope): string | undefined {
  switch (scope.health) {
    case "ok":
      return undefined;
    case "waiting":
      return t("waitingMeans");
    case "unverified":
      return scope.reason;
    case "late":
      return t("lateMeans", { time: duration(preferences.locale, (scope.overdueSeconds ?? 0) * 1000) });
    case "disabled":
      return disabledBy(scope);
  }
  return scope.lastRun?.error ?? scope.lastRun?.samples?.[0] ?? scope.reason;
}

function disabledBy(scope: Scope): string {
  const { switch: own } = scope;
  if (paused(scope)) return t("pausedMeans");
  if (!own) return t("disabledMeans");
  return own.reason
    ? t("switchedOff", { by: own.by, reason: own.reason })
    : t("switchedOffBy", { by: own.by });
}
