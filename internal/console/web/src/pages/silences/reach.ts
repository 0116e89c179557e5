import type { Schemas } from "../../api/client";
import type { Matcher } from "./matcher";

/** The rules and findings that a silence would hold back now, as far as the rules tell. */
export interface Reach {
  rules: number;
  /** Findings that fire in the scopes that match. */
  firing: number;
  /**
   * There are conditions on keys, so the silence holds back fewer of these findings. The rules do not tell how many.
   */
  ofKeys: boolean;
  /** Rules that may match, because they take the warehouse from their rows. */
  perhaps: number;
}

type Verdict = "yes" | "no" | "perhaps";

/** Counts the rules and findings that match; undefined if only the server can judge an expression. */
export function reach(matchers: readonly Matcher[], rules: readonly Schemas["Rule"][]): Reach | undefined {
  let judges: ((rule: Schemas["Rule"], scope: string) => Verdict)[];
  try {
    judges = matchers.filter((each) => each.name.trim() !== "key").map(judge);
  } catch {
    return undefined;
  }
  const found: Reach = { rules: 0, firing: 0, perhaps: 0, ofKeys: judges.length < matchers.length };
  for (const rule of rules) {
    let matches = false;
    let perhaps = false;
    for (const scope of rule.scopes) {
      if (scope.shadow && !scope.promoted) continue; // nothing silences a rule in shadow
      const verdicts = judges.map((each) => each(rule, scope.scope));
      if (verdicts.includes("no")) continue;
      if (verdicts.includes("perhaps")) {
        perhaps = true;
        continue;
      }
      matches = true;
      found.firing += scope.firing;
    }
    if (matches) found.rules++;
    else if (perhaps) found.perhaps++;
  }
  return found;
}

function judge({ name, op, value }: Matcher): (rule: Schemas["Rule"], scope: string) => Verdict {
  const fits = op.endsWith("~")
    ? (text: string) => new RegExp(`^(?:${value})$`, "su").test(text)
    : (text: string) => text === value;
  fits(""); // an expression that this browser does not know fails here
  const not = op.startsWith("!");
  return (rule, scope) => {
    const text = field(name.trim(), rule, scope);
    if (text === undefined) return "perhaps";
    return fits(text) !== not ? "yes" : "no";
  };
}

function field(name: string, rule: Schemas["Rule"], scope: string): string | undefined {
  switch (name) {
    case "rule":
      return rule.id;
    case "type":
      return rule.type;
    case "scope":
      return scope;
    case "warehouse":
      return scope === "" ? undefined : scope;
  }
  return rule.labels?.[name.replace(/^labels\./, "")] ?? "";
}
