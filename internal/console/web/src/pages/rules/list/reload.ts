import { api, body, type Schemas } from "../../../api/client";
import { actions } from "../../../ui/actions.svelte";
import { t } from "./text";

/** Makes the answering node load its rule files again. */
export function reloadFiles(after: () => unknown): Promise<boolean> {
  return actions.run({
    ask: { title: t("reloadTitle"), text: t("reloadText"), action: t("reload") },
    run: () => body(api.POST("/api/v1/rules/reload")),
    done: said,
    after,
  });
}

function said({ files, rules, added, changed, removed, kept, problems }: Schemas["Reloaded"]): string {
  const result = t("reloaded", {
    files: t("files", { count: files }),
    rules: t("rules", { count: rules }),
    added,
    changed,
    removed,
  });
  if (problems.length === 0) return result;
  return `${result} ${t("reloadedBad", { kept: t("keptRules", { count: kept }) })}`;
}
