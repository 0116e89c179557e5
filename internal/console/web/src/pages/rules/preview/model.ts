import type { Schemas } from "../../../api/client";
import type { IconName } from "../../../ui/Icon.svelte";

export type Preview = Schemas["Preview"];
export type TriedNotice = Schemas["TriedNotice"];
export type Judgement = NonNullable<Preview["result"]>;
export type PreviewRow = Preview["rows"][number];

type Fate = NonNullable<Judgement["fate"]>;

/** The result of the condition for a row. */
export type Verdict = "match" | "no" | "error";

export function verdict(judgement: Judgement): Verdict {
  if (judgement.error) return "error";
  return judgement.match ? "match" : "no";
}

export const signs: Record<Verdict, { tone: "good" | "neutral" | "bad"; icon: IconName }> = {
  match: { tone: "good", icon: "check" },
  no: { tone: "neutral", icon: "close" },
  error: { tone: "bad", icon: "error" },
};

/** Returns the key of the text for the fate of a finding. */
export const fateKey = (fate: Fate): `fate_${Fate}` => `fate_${fate}`;

/** Returns why a row did not meet the condition, or what is wrong with the row. */
export function reasons(judgement: Judgement): string[] {
  return [...(judgement.error ? [judgement.error] : []), ...(judgement.because ?? [])];
}
