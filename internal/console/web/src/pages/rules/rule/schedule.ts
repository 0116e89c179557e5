import { preferences } from "../../../lib/preferences.svelte";
import { spoken } from "./cron";
import { t } from "./text";

/** Describes a schedule in words, in the current language; undefined if only cron can express it. */
export function inWords(cron: string): string | undefined {
  const said = spoken(preferences.locale, cron);
  if (!said) return undefined;
  return [often(said.every), said.hours && t("within", said.hours), days(said)]
    .filter(Boolean)
    .join(t("comma"));
}

function often(every: NonNullable<ReturnType<typeof spoken>>["every"]): string {
  switch (every.unit) {
    case "at":
      return t("at", { times: every.times });
    case "past":
      return t("past", { minutes: every.minutes });
  }
  return t(`every_${every.unit}`, { count: every.count });
}

function days(said: NonNullable<ReturnType<typeof spoken>>): string | undefined {
  if (said.days) return t("onDays", { days: said.days });
  if (said.monthDays) return t("onMonthDays", { days: said.monthDays });
  return said.every.unit === "at" ? t("everyDay") : undefined;
}
