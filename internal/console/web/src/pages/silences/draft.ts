import type { Schemas } from "../../api/client";
import { parse, write, type Matcher } from "./matcher";

/** A silence in a form. Times are in the reader's own timezone, as inputs write them. */
export interface Draft {
  matchers: Matcher[];
  recurring: boolean;
  /** Empty = now. */
  from: string;
  /** A duration; empty = `until` gives the end. */
  lasts: string;
  /** Empty = no end, which only a recurring window may have. */
  until: string;
  cron: string;
  duration: string;
  timezone: string;
  comment: string;
}

export function blank(texts: readonly string[] = []): Draft {
  const matchers = texts.map(parse).filter((matcher) => matcher !== undefined);
  return {
    matchers: matchers.length > 0 ? matchers : [{ name: "rule", op: "=", value: "" }],
    recurring: false,
    from: "",
    lasts: "2h",
    until: "",
    cron: "0 22 * * 6",
    duration: "8h",
    timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    comment: "",
  };
}

/** Returns a draft with the fields of a silence. A beginning in the past becomes now. */
export function draftOf(silence: Schemas["Silence"], now: number): Draft {
  const draft = blank(silence.matchers);
  const { window, until } = silence;
  if (Date.parse(silence.from) > now) draft.from = local(silence.from);
  draft.comment = silence.comment ?? "";
  if (window) {
    Object.assign(draft, { recurring: true, cron: window.cron, duration: window.duration });
    draft.timezone = window.timezone || "UTC";
  }
  if (until && Date.parse(until) > now) {
    draft.until = local(until);
    draft.lasts = "";
  }
  return draft;
}

/** Returns the request for the API. */
export function fieldsOf(draft: Draft): Schemas["SilenceFields"] {
  const matchers = draft.matchers.filter((each) => each.name.trim() !== "" || each.value !== "").map(write);
  const fields: Schemas["SilenceFields"] = { matchers };
  if (draft.from) fields.from = new Date(draft.from).toISOString();
  if (draft.recurring) {
    const { cron, duration, timezone } = draft;
    fields.window = {
      cron: cron.trim(),
      duration: duration.trim(),
      ...(timezone.trim() && { timezone: timezone.trim() }),
    };
    if (draft.until) fields.until = new Date(draft.until).toISOString();
  } else if (draft.lasts) fields.for = draft.lasts;
  else if (draft.until) fields.until = new Date(draft.until).toISOString();
  if (draft.comment.trim()) fields.comment = draft.comment.trim();
  return fields;
}

/** Returns the request that restores a silence that was just ended, with the rest of its time. */
export function restOf(silence: Schemas["Silence"], now: number): Schemas["SilenceFields"] {
  const { matchers, until, window, comment, from } = silence;
  return {
    matchers,
    ...(Date.parse(from) > now && { from }),
    ...(until && { until }),
    ...(window && { window }),
    ...(comment && { comment }),
  };
}

/** Writes a moment as an input of date and time does. */
export function local(at: string): string {
  const moment = new Date(at);
  return new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
