import type { Schemas } from "../../api/client";
import { span } from "../../lib/span";
import { isSpan } from "./operations";

export type QueueSettings = Schemas["QueueSettings"];
export type Change = Schemas["SettingsAsk"];

/**
 * The settings that operators have set. A setting that is undefined comes from the configuration. 0 = no limit of
 * attempts.
 */
export interface Live {
  lease?: string | undefined;
  maxAttempts?: number | undefined;
  suspendSteps?: string[] | undefined;
}

export const settingNames = ["lease", "maxAttempts", "suspendSteps"] as const;
export type SettingName = (typeof settingNames)[number];

export function liveOf({ inForce, live }: QueueSettings): Live {
  return Object.fromEntries(
    settingNames.filter((name) => live.includes(name)).map((name) => [name, inForce[name]]),
  );
}

/**
 * Returns the request that changes `was` to `is`; undefined if both are the same. The request leaves out equal
 * settings, because somebody else may change them.
 */
export function changeOf(was: Live, is: Live): Change | undefined {
  const changed = settingNames.filter((name) => JSON.stringify(was[name]) !== JSON.stringify(is[name]));
  if (changed.length === 0) return undefined;
  const reset = changed.filter((name) => is[name] === undefined);
  const set = changed.filter((name) => is[name] !== undefined).map((name) => [name, is[name]]);
  return { ...Object.fromEntries(set), ...(reset.length > 0 ? { reset } : {}) };
}

/** A setting in a form: as the configuration says, or as it is written. */
export interface Written {
  configured: boolean;
  text: string;
}
export type Draft = Record<SettingName, Written>;

/** Returns the first content of the form. */
export function draftOf(settings: QueueSettings): Draft {
  const { lease, maxAttempts, suspendSteps } = settings.inForce;
  const written = (name: SettingName, text: string) => ({ configured: !settings.live.includes(name), text });
  return {
    lease: written("lease", inDays(lease)),
    maxAttempts: written("maxAttempts", maxAttempts === 0 ? "" : String(maxAttempts)),
    suspendSteps: written("suspendSteps", suspendSteps.map(inDays).join(", ")),
  };
}

const day = 86_400_000;

/** Bounds as the API has them, in ms. */
const bounds: Record<"lease" | "suspendSteps", readonly [number, number]> = {
  lease: [1_000, day],
  suspendSteps: [1_000, 366 * day],
};

/** Returns the settings in the form, and the names of the settings that are not valid. */
export function readDraft(draft: Draft): { live: Live; faults: SettingName[] } {
  const steps =
    draft.suspendSteps.text.trim() === ""
      ? []
      : draft.suspendSteps.text.split(/[,，]/).map((step) => step.trim());
  const attempts = draft.maxAttempts.text.trim();
  const values: Required<Live> = {
    lease: draft.lease.text.trim(),
    maxAttempts: Number(attempts),
    suspendSteps: steps,
  };
  const fine: Record<SettingName, boolean> = {
    lease: isWithin("lease", draft.lease.text),
    maxAttempts: attempts === "" || /^[1-9]\d{0,8}$/.test(attempts),
    suspendSteps: steps.length <= 100 && steps.every((step) => isWithin("suspendSteps", step)),
  };
  const given = settingNames.filter((name) => !draft[name].configured);
  return {
    live: Object.fromEntries(given.map((name) => [name, values[name]])),
    faults: given.filter((name) => !fine[name]),
  };
}

function isWithin(name: keyof typeof bounds, text: string): boolean {
  if (!isSpan(text)) return false;
  const lasts = span(text.trim()); // undefined for fractions, which the server checks
  return lasts === undefined || (lasts >= bounds[name][0] && lasts <= bounds[name][1]);
}

/** Returns a duration of the API with its days: 36h30m is 1d12h30m. */
export function inDays(text: string): string {
  const [, hours = "", rest = ""] = /^(\d+)h(.*)$/.exec(text) ?? [];
  const days = Math.floor(Number(hours) / 24);
  if (days === 0) return text;
  const left = Number(hours) % 24;
  return `${days}d${left > 0 ? `${left}h` : ""}${rest}`;
}
