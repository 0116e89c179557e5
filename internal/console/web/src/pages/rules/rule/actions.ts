import { api, body, type Schemas } from "../../../api/client";
import { actions } from "../../../ui/actions.svelte";
import type { Run } from "../model";
import { t as runs } from "../runs/text";
import { nameOf, type Target } from "../switch/switching";
import { t as shared } from "../text";
import { t } from "./text";

type Ordered = Schemas["Ordered"];

const at = ({ rule, scope }: Target) => ({
  params: { path: { id: rule }, query: scope === undefined ? {} : { scope } },
});

/** Runs the rule now. Calls `ended` with the run, or `goesOn` with the firing if the run takes longer. */
export function runNow(target: Target, ended: (run: Run) => void, goesOn: (ordered: Ordered) => void) {
  const name = nameOf(target);
  return actions.run({
    ask: { title: runs("runTitle", { name }), text: runs("runText"), action: runs("runNow") },
    run: async () => {
      const ordered = await body(api.POST("/api/v1/rules/{id}/run", at(target)));
      if (ordered.run) ended(ordered.run);
      else goesOn(ordered);
      return ordered;
    },
    done: ({ run }) =>
      run
        ? runs("ran", { name, outcome: shared(run.outcome), rows: run.rows, notices: run.notices })
        : runs("goesOn"),
  });
}

/** Promotes a rule in shadow. */
export function promote(target: Target, after: () => unknown) {
  const name = nameOf(target);
  return actions.run({
    ask: { title: t("promoteTitle", { name }), text: t("promoteText"), action: t("promote") },
    run: () => body(api.POST("/api/v1/rules/{id}/promote", at(target))),
    done: t("promoteDone", { name }),
    after,
  });
}
