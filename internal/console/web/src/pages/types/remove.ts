import { api } from "../../api/client";
import { session } from "../../api/session.svelte";
import { actions, type Action } from "../../ui/actions.svelte";
import { addAll, subscriptions } from "../subscriptions/load";
import type { Type } from "./form";
import { t } from "./text";

/** The most subscriptions that the undo can add again. */
const most = 100_000;

/**
 * Removes a type, after a question that says what goes with the type. If all subscriptions of the type are known, there
 * is an undo: it makes the type again, and adds the subscriptions again.
 */
export async function remove(type: Type, after: () => unknown): Promise<void> {
  const { code } = type;
  let known;
  try {
    known = await subscriptions({ type: code }, most);
  } catch (thrown) {
    actions.fail(thrown);
    return;
  }
  const gone = known.subscriptions;
  const complete = session.everywhere && !known.more;
  const text = [
    gone.length > 0 ? t("removeSubscriptions", { count: gone.length }) : t("removeNone"),
    session.everywhere ? "" : t("removeForeign"),
    t("removeRules"),
  ];
  const action: Action<unknown> = {
    ask: {
      title: t("removeTitle", { code }),
      text: text.filter(Boolean).join(" "),
      action: t("remove"),
      danger: true,
    },
    run: () => api.DELETE("/api/v1/types/{code}", { params: { path: { code } } }),
    done: t("removed", { code }),
    after,
  };
  if (complete) {
    action.undo = async () => {
      await api.POST("/api/v1/types", { body: type });
      await addAll(gone);
    };
  }
  await actions.run(action);
}
