import type { Schemas } from "../../../api/client";
import { absolute, duration } from "../../../lib/moment";
import { preferences } from "../../../lib/preferences.svelte";
import { keyText } from "../key";
import { t } from "./heldtext";

type Held = Schemas["Held"];

/**
 * Returns a reason in the reader's language. Times are in the given timezone; undefined = the reader's. A reason with a
 * code that this console does not know has the server's text.
 */
export function wordsOf({ code, text, facts }: Held, zone?: string): string {
  const { error = "", sink = "", count = 0 } = facts;
  const values = {
    error,
    sink,
    count,
    at: moment(facts.at, zone),
    until: moment(facts.until, zone),
    seen: span(facts.seenMs),
    asked: span(facts.askedMs),
    by: facts.by ?? "",
    subscriber: facts.subscriber ?? "",
    type: facts.type ?? "",
    warehouse: facts.warehouse ?? "",
    most: facts.most ?? 0,
    key: keyText(facts.key ?? ""),
    silences: (facts.silences ?? []).join(", "),
    node: facts.node ?? "",
  };
  const given = facts.reason && t("given", { reason: facts.reason });
  const alike = count > 0 && t("alike", values);
  switch (code) {
    case "disabled": {
      const who = facts.all ? "disabledAll" : facts.by ? "disabledBy" : "disabled";
      return sentences(t(who, values), given, facts.until && t("ends", { at: values.until }));
    }
    case "not_run":
      return sentences(t(code), facts.baseline && t("firstRun"));
    case "absent":
      return t(facts.event ? "absentEvent" : "absent");
    case "no_match":
      return t(facts.result ? "no_matchResult" : "no_match");
    case "baseline":
      return sentences(t(code), again(facts));
    case "repeat": {
      const after = facts.askedMs && t("againAfter", values);
      return sentences(t(code, values), after, again(facts), !after && t("neverAgain"));
    }
    case "unsubscribed":
      return t(facts.shadow ? "unsubscribedShadow" : "unsubscribed", values);
    case "silenced":
      return sentences(t(facts.event ? "silencedEvent" : "silenced", values), given);
    case "push_retry": {
      const next = facts.at ? t("retryAt", values) : t("retrySoon");
      const failed = t(code, { ...values, count: facts.attempts ?? 0 });
      return sentences(failed, next, facts.until && t("deadline", values), alike);
    }
    case "push_delayed":
      return sentences(t(code, values), facts.unless && t(`unless_${facts.unless}`), alike);
    case "push_running":
    case "push_behind":
    case "push_silenced":
    case "push_due":
      return sentences(t(code, values), alike);
    case "unverified":
    case "failed":
    case "shadow":
    case "errored":
    case "seen":
    case "for":
    case "keep_firing_for":
    case "limit":
    case "group":
    case "was_silenced":
      return t(code, values);
  }
  return text;
}

/** Returns in words which changes of the finding would make a new notice; false if none would. */
function again({ columns = [], joins, rises, priority = 0 }: Held["facts"]): string | false {
  const or = t("or");
  const news = [
    columns.length > 0 && t("columns", { columns: columns.join(or) }),
    joins && t("joins"),
    rises && t("rises", { priority }),
  ].filter((each) => typeof each === "string");
  return news.length > 0 && t("againOn", { news: news.join(or) });
}

const moment = (at: string | undefined, zone: string | undefined) =>
  at ? absolute(preferences.locale, Date.parse(at), zone) : "";
const span = (ms = 0) => duration(preferences.locale, Math.max(ms, 0));

/** Joins the sentences of one reason. Chinese sentences follow each other without a blank. */
function sentences(...parts: (string | false | number | undefined)[]): string {
  const told = parts.filter((part) => typeof part === "string" && part !== "") as string[];
  return told.join(preferences.locale === "zh" ? "" : " ");
}
