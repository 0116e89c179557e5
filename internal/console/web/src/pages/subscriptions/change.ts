import { api, body, type Schemas } from "../../api/client";
import { actions } from "../../ui/actions.svelte";
import { bare, everywhere, remove as drop, type Subscription } from "./load";
import { own, type Cell } from "./matrix";
import { t } from "./text";

/** The names in the texts about a subscription: who gets which type. */
export interface Told {
  who: string;
  type: string;
}

const where = (warehouse: string) => (warehouse === everywhere ? t("all") : warehouse);
const words = (told: Told, { warehouse }: Subscription) => ({ ...told, warehouse: where(warehouse) });

/** Adds a subscription. Returns true if the subscription is new. */
export async function put(subscription: Subscription): Promise<boolean> {
  const { response } = await api.POST("/api/v1/subscriptions", { body: bare(subscription) });
  return response.status === 201;
}

/** Says that a subscription was added. Offers an undo if the subscription is new. */
export function sayAdded(subscription: Subscription, told: Told, fresh: boolean, after: () => unknown): void {
  if (fresh) actions.say("good", t("added", words(told, subscription)), () => drop(subscription), after);
  else actions.say("good", t("present", words(told, subscription)));
}

/** Removes a subscription. The undo adds it again. */
export async function take(subscription: Subscription, told: Told, after: () => unknown): Promise<boolean> {
  return actions.run({
    run: () => drop(subscription),
    done: t("removed", words(told, subscription)),
    undo: () => put(subscription),
    after,
  });
}

/** Adds or removes the cell's own subscription, whatever the cell inherits. */
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

/** Confirms the waiting list of a source: exactly the list that is shown. */
export async function confirm(
  origin: string,
  list: Schemas["WaitingList"],
  after: () => unknown,
): Promise<boolean> {
  return actions.run({
    ask: {
      title: t("originConfirm"),
      text: t("originAsk", { removed: list.removed, added: list.added }),
      action: t("originConfirm"),
      danger: true,
    },
    run: () =>
      body(
        api.POST("/api/v1/subscriptions/origins/{origin}/confirm", {
          params: { path: { origin } },
          body: { hash: list.hash },
        }),
      ),
    done: ({ removed, added }) => t("originConfirmed", { removed, added }),
    after,
  });
}

/** Releases the subscriptions of a source that is no longer asked, so that people can change them. */
export async function release(origin: Schemas["Origin"], after: () => unknown): Promise<boolean> {
  return actions.run({
    ask: {
      title: t("originRelease"),
      text: t("originReleaseAsk", { count: origin.subscriptions, source: origin.name }),
      action: t("originRelease"),
    },
    run: () =>
      body(
        api.POST("/api/v1/subscriptions/origins/{origin}/release", {
          params: { path: { origin: origin.name } },
        }),
      ),
    done: ({ released }) => t("originReleased", { count: released }),
    after,
  });
}
