import type { Schemas } from "../../api/client";
import type { IconName } from "../../ui/Icon.svelte";

export type Rule = Schemas["Rule"];
export type Scope = Schemas["Scope"];
export type Switch = Schemas["Switch"];
export type Run = Schemas["RuleRun"];
export type Problem = Schemas["FileProblem"];

/** The healths of a rule in a scope, the most urgent first. */
export const healths = ["failing", "unverified", "late", "degraded", "waiting", "ok", "disabled"] as const;
export type Health = (typeof healths)[number];

interface Look {
  tone: "neutral" | "good" | "warn" | "bad" | "info";
  icon: IconName;
}

/** How each health looks. The icon shows it to readers who see no colours. */
export const looks: Record<Health | "failed" | "skipped", Look> = {
  ok: { tone: "good", icon: "check" },
  degraded: { tone: "warn", icon: "warning" },
  failing: { tone: "bad", icon: "error" },
  failed: { tone: "bad", icon: "error" },
  unverified: { tone: "bad", icon: "warning" },
  late: { tone: "bad", icon: "clock" },
  waiting: { tone: "info", icon: "clock" },
  disabled: { tone: "neutral", icon: "off" },
  skipped: { tone: "neutral", icon: "right" },
};

/** Returns whether all rules are paused, whatever the other switches are. */
export function paused(scope: Scope): boolean {
  return scope.switch?.rule === "*";
}

/** Returns whether a rule delivers to its shadow inbox only: its file says so, and nobody has promoted the rule. */
export function inShadow(scope: Scope): boolean {
  return scope.shadow === true && scope.promoted === undefined;
}

/** Returns the switch of this rule, in this scope or as a whole. A pause of all rules is no switch of this rule. */
export function ownSwitch(scope: Scope): Switch | undefined {
  return paused(scope) ? undefined : scope.switch;
}

/** Returns a file's name without its folders, which is enough to tell files apart. */
export function base(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Returns the place of a problem as compilers write it: "stock.yaml:12:7". */
export function place(problem: Problem): string {
  if (problem.line === 0) return base(problem.file);
  return [base(problem.file), problem.line, problem.col].filter((part) => part !== "").join(":");
}

/**
 * Returns an address that is safe to follow: many people write rules, and not all schemes lead to pages. Undefined for
 * any other address.
 */
export function webLink(address: string | undefined): string | undefined {
  if (!address || !URL.canParse(address)) return undefined;
  const { protocol, href } = new URL(address);
  return protocol === "https:" || protocol === "http:" ? href : undefined;
}
