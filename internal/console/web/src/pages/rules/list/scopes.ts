import { api, body, type Schemas } from "../../../api/client";
import { session } from "../../../api/session.svelte";
import { actions } from "../../../ui/actions.svelte";
import { t } from "./text";

export type ScopeOrigin = Schemas["ScopeOrigin"];

/** Returns the rules whose scopes come from a query; empty if the user may not see them. */
export async function scopeOrigins(signal?: AbortSignal): Promise<ScopeOrigin[]> {
  if (!session.everywhere || !session.may("list-scope-origins")) return [];
  return (await body(api.GET("/api/v1/scopes", { signal: signal ?? null }))).origins;
}

/** Returns whether the page has something to say about the scopes of a rule. */
export const speaks = (origin: ScopeOrigin): boolean =>
  !origin.source || !origin.listed || origin.scopes === 0 || !!origin.error || !!origin.waits;

/** Confirms the waiting list of scopes: exactly the list that is shown. */
export function confirmScopes(
  rule: string,
  list: Schemas["WaitingScopes"],
  after: () => unknown,
): Promise<boolean> {
  return actions.run({
    ask: {
      title: t("scopesConfirm"),
      text: t("scopesAsk", { rule, scopes: list.scopes, removed: list.removed }),
      action: t("scopesConfirm"),
      danger: true,
    },
    run: () =>
      body(
        api.POST("/api/v1/scopes/{rule}/confirm", { params: { path: { rule } }, body: { hash: list.hash } }),
      ),
    done: ({ added, changed, removed }) => t("scopesConfirmed", { added, changed: changed ?? 0, removed }),
    after,
  });
}

/** Forgets the list of a rule that has no query any more. */
export function forgetScopes(rule: string, after: () => unknown): Promise<boolean> {
  return actions.run({
    ask: { title: t("scopesForget"), text: t("scopesForgetAsk", { rule }), action: t("scopesForget") },
    run: () => api.DELETE("/api/v1/scopes/{rule}", { params: { path: { rule } } }),
    done: t("scopesForgotten", { rule }),
    after,
  });
}
