import { api } from "../../api/client";
import { actions } from "../../ui/actions.svelte";
import { bare, everywhere, remove as drop, type Subscription } from "./load";
import { own, type Cell } from "./matrix";
import { t } from "./text";

/** How a subscription is told: who gets which type where. */
export interface Told {
  who: string;
  type: string;
}

const where = (warehouse: string) => (warehouse === everywhere ? t("all") : warehouse);
const words = (told: Told, { warehouse }: Subscription) => ({ ...told, warehouse: where(warehouse) });

/** Adds a subscription; true where it was not there before. */
export async function put(subscription: Subscription): Promise<boolean> {
  const { response } = await api.POST("/api/v1/subscriptions", { body: bare(subscription) });
  return response.status === 201;
}

/** Says that a subscription was added, and offers the way back where there is one. */
export function sayAdded(subscription: Subscription, told: Told, fresh: boolean, after: () => unknown): void {
  if (fresh) actions.say("good", t("added", words(told, subscription)), () => drop(subscription), after);
  else actions.say("good", t("present", words(told, subscription)));
}

/** Takes a subscription away; it can be put back. */
export async function take(subscription: Subscription, told: Told, after: () => unknown): Promise<boolean> {
  return actions.run({
    run: () => drop(subscription),
    done: t("removed", words(told, subscription)),
    undo: () => put(subscription),
    after,
  });
}

/** Adds or takes away the subscription of a cell itself, whatever it inherits. */
export async function toggle(
  cell: Cell,
  subscription: Subscription,
  told: Told,
  after: () => unknown,
): Promise<boolean> {
  const all = words(told, subscription);
  if (own(cell)) {
    return actions.run({
      run: () => drop(subscription),
      done: t(cell === "both" ? "removedInherited" : "removed", all),
      undo: () => put(subscription),
      after,
    });
  }
  return actions.run({
    run: () => put(subscription),
    done: t(cell === "inherited" ? "addedToo" : "added", all),
    undo: () => drop(subscription),
    after,
  });
}
