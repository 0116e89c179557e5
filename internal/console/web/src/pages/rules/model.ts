import type { Schemas } from "../../api/client";
import type { IconName } from "../../ui/Icon.svelte";

export type Rule = Schemas["Rule"];
export type Scope = Schemas["Scope"];
export type Switch = Schemas["Switch"];
export type Run = Schemas["RuleRun"];
export type Problem = Schemas["FileProblem"];

/** How a rule in a scope is, the worst first: what somebody has to do something about. */
export const healths = ["failing", "unverified", "late", "degraded", "waiting", "ok", "disabled"] as const;
export type Health = (typeof healths)[number];

interface Look {
  tone: "neutral" | "good" | "warn" | "bad" | "info";
  icon: IconName;
}

/** How each health looks; the icon says it to those who see no colours. */
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

/** Whether every rule is stopped, whatever is switched besides. */
export function paused(scope: Scope): boolean {
  return scope.switch?.rule === "*";
}

/** Whether it delivers to its shadow inbox only: its file says so, and nobody has promoted it. */
export function inShadow(scope: Scope): boolean {
  return scope.shadow === true && scope.promoted === undefined;
}

/** What somebody has said of this rule: in this scope, or as a whole. A pause of all rules is none of its own. */
export function ownSwitch(scope: Scope): Switch | undefined {
  return paused(scope) ? undefined : scope.switch;
}

/** The file's name without its folders: what tells files apart. */
export function base(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Where a problem is, as compilers say it: "stock.yaml:12:7". */
export function place(problem: Problem): string {
  if (problem.line === 0) return base(problem.file);
  return [base(problem.file), problem.line, problem.col].filter((part) => part !== "").join(":");
}

/** A link that is safe to follow: rules are written by many, and not all schemes lead to pages. */
export function webLink(address: string | undefined): string | undefined {
  if (!address || !URL.canParse(address)) return undefined;
  const { protocol, href } = new URL(address);
  return protocol === "https:" || protocol === "http:" ? href : undefined;
}
