import { api, body, type Schemas } from "../../../api/client";
import { actions, ownEnd, type Question } from "../../../ui/actions.svelte";
import { ownSwitch, type Rule, type Scope, type Switch } from "../model";
import { t } from "./text";
import { again, askOf } from "./until";

/** The target of a switch: a rule in one scope, or without a scope the whole rule. */
export interface Target {
  rule: string;
  scope?: string;
}

/** Returns the target of a row's toggle. A rule without scopes is switched as a whole. */
export const targetOf = (rule: Rule, { scope }: Scope): Target =>
  scope === "" ? { rule: rule.id } : { rule: rule.id, scope };

type Switched = Schemas["Switched"];
type Took = (id: string, scopes: readonly Scope[]) => void;

export const nameOf = ({ rule, scope }: Target) =>
  scope === undefined ? rule : t("inScope", { rule, scope });

/** How long a switch may hold. */
const lengths = (): NonNullable<Question["until"]> => [
  { value: "1h", label: t("hour") },
  { value: "2h", label: t("twoHours") },
  { value: "4h", label: t("hours") },
  { value: "1d", label: t("day") },
  { value: "tomorrow", label: t("tomorrow") },
  { value: ownEnd, label: t("ownEnd") },
  { value: "", label: t("forGood") },
];

/**
 * Returns the switch of the target itself, if there is one. The switch of the whole rule is not the switch of a scope.
 */
export function switchOf(target: Target, scope: Scope): Switch | undefined {
  const own = ownSwitch(scope);
  return own?.scope === (target.scope ?? "*") ? own : undefined;
}

/** Turns a rule on or off, and asks for how long and why. A return to the state of the file needs no question. */
export function turn(target: Target, on: boolean, before: Scope, took: Took): Promise<boolean> {
  const earlier = switchOf(target, before);
  if (earlier && before.fileEnabled === on) return goBack(target, earlier, on, took);
  const name = nameOf(target);
  const whole = target.scope === undefined && before.scope !== "" ? ` ${t("wholeText")}` : "";
  return actions.run({
    ask: {
      title: t(on ? "enableTitle" : "disableTitle", { name }),
      text: t(on ? "enableText" : "disableText") + whole,
      action: t(on ? "enable" : "disable"),
      danger: !on,
      reason: "optional",
      until: lengths(),
    },
    run: async (answer) => report(took, await set(target, on, askOf(answer, new Date()))),
    done: t(on ? "enabled" : "disabled", { name }),
    undo: async () => report(took, await restore(target, earlier)),
  });
}

/** Removes the switch of the target, so that the rule's file counts again. */
export function goBack(target: Target, earlier: Switch, on: boolean, took: Took): Promise<boolean> {
  return actions.run({
    run: async () => report(took, await clear(target)),
    done: (now) => {
      const scope = now.scopes.find((each) => target.scope === undefined || each.scope === target.scope);
      if (scope?.enabled !== on) return t("cleared", { name: nameOf(target) });
      return t(on ? "enabled" : "disabled", { name: nameOf(target) });
    },
    undo: async () => report(took, await restore(target, earlier)),
  });
}

/** Pauses all rules. */
export function pauseAll(after: () => unknown): Promise<boolean> {
  return actions.run({
    ask: {
      title: t("pauseTitle"),
      text: t("pauseText"),
      action: t("pauseAll"),
      danger: true,
      reason: "optional",
      until: lengths(),
    },
    run: (answer) => pause(askOf(answer, new Date())),
    done: t("pausedDone"),
    undo: () => resume(),
    after,
  });
}

/** Ends the pause of all rules. The undo restores the pause. */
export function resumeAll(earlier: Switch, after: () => unknown): Promise<boolean> {
  return actions.run({
    run: () => resume(),
    done: t("resumed"),
    undo: async () => {
      const ask = again(earlier, new Date());
      if (ask) await pause(ask);
    },
    after,
  });
}

function report(took: Took, switched: Switched): Switched {
  took(switched.rule, switched.scopes);
  return switched;
}

const pause = (ask: Schemas["SwitchAsk"]) => body(api.POST("/api/v1/rules/pause", { body: ask }));
const resume = () => body(api.POST("/api/v1/rules/resume"));

const params = ({ rule, scope }: Target) => ({
  path: { id: rule },
  query: scope === undefined ? {} : { scope },
});

function set(target: Target, on: boolean, ask: Schemas["SwitchAsk"]): Promise<Switched> {
  const options = { params: params(target), body: ask };
  if (on) return body(api.POST("/api/v1/rules/{id}/enable", options));
  return body(api.POST("/api/v1/rules/{id}/disable", options));
}

function clear(target: Target): Promise<Switched> {
  return body(api.POST("/api/v1/rules/{id}/clear", { params: params(target) }));
}

function restore(target: Target, earlier: Switch | undefined): Promise<Switched> {
  const ask = earlier && again(earlier, new Date());
  return earlier && ask ? set(target, earlier.state === "enabled", ask) : clear(target);
}
