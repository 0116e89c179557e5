import { api, body } from "../../api/client";
import type { Schemas } from "../../api/client";
import { actions } from "../../ui/actions.svelte";
import { causeText } from "./causes";
import { c } from "./changes";
import { given, type Delivery, type Filter } from "./model";
import { t } from "./text";

const path = (id: number) => ({ params: { path: { id } } });
const retryCall = (id: number) => body(api.POST("/api/v1/deliveries/{id}/retry", path(id)));
const cancelCall = (id: number, reason: string) =>
  body(api.POST("/api/v1/deliveries/{id}/cancel", { ...path(id), body: { reason } }));

/** Retries a delivery. The undo cancels it. */
export function retryOne(delivery: Delivery, mayCancel: boolean, after: () => unknown): Promise<boolean> {
  return actions.run({
    ...(mayCancel && delivery.state !== "pending"
      ? { undo: () => cancelCall(delivery.id, c("undoneReason")) }
      : {}),
    run: () => retryCall(delivery.id),
    done: c("retried", { id: String(delivery.id) }),
    after,
  });
}

/** Cancels a delivery, with a reason. The undo retries it, also for the inbox and queues. */
export function cancelOne(delivery: Delivery, mayRetry: boolean, after: () => unknown): Promise<boolean> {
  return actions.run({
    ask: {
      title: c("cancelOne", { id: String(delivery.id) }),
      text: c("cancelText", { sink: delivery.sink }),
      action: c("cancel"),
      danger: true,
      reason: "required",
    },
    ...(mayRetry ? { undo: () => retryCall(delivery.id) } : {}),
    run: ({ reason }) => cancelCall(delivery.id, reason),
    done: c("canceled", { id: String(delivery.id) }),
    after,
  });
}

/** The most deliveries that a request may name. */
export const mostSelected = 1_000;

export type Verb = "retry" | "cancel";
type Choice = { ids: number[] } | { filter: Schemas["DeliveryFilter"] };

function changeCall(verb: Verb, choice: Choice, reason: string): Promise<Schemas["Changed"]> {
  return verb === "retry"
    ? body(api.POST("/api/v1/deliveries/retry", { body: choice }))
    : body(api.POST("/api/v1/deliveries/cancel", { body: { ...choice, reason } }));
}

/** Changes the selected deliveries. There is no undo for several deliveries. */
export function changeSelected(verb: Verb, ids: number[], after: () => unknown): Promise<boolean> {
  const count = ids.length;
  return actions.run({
    ask: {
      title: verb === "retry" ? c("retry") : c("cancel"),
      text: c(verb === "retry" ? "retryManyText" : "cancelManyText", { count }),
      action: c(verb),
      danger: verb === "cancel",
      ...(verb === "cancel" ? { reason: "required" as const } : {}),
    },
    run: ({ reason }) => changeCall(verb, { ids }, reason),
    done: ({ changed }) => {
      const said = c(verb === "retry" ? "retriedMany" : "canceledMany", { count: changed });
      return changed < count ? `${said} · ${c("unchanged", { count: count - changed })}` : said;
    },
    after,
  });
}

/**
 * Returns the filter of a change. If the filter has no state, a cancel, or a change of held deliveries, takes pending
 * deliveries. A retry takes failed and timed-out deliveries.
 */
export function chosen(verb: Verb, filter: Filter): Schemas["DeliveryFilter"] {
  const state: Delivery["state"][] =
    filter.state !== ""
      ? [filter.state]
      : filter.held || verb === "cancel"
        ? ["pending"]
        : ["failed", "timed_out"];
  return { ...given(filter), state, ...(filter.held ? { held: true } : {}) };
}

/** Describes a filter in words. */
export function words(filter: Schemas["DeliveryFilter"]): string {
  const both = filter.state?.length === 2;
  const first = filter.held
    ? c("wordHeld")
    : both
      ? c("wordFailedOrTimedOut")
      : c("wordState", { state: t(filter.state?.[0] as "failed").toLowerCase() });
  const rest = [
    filter.sink && c("wordSink", { value: filter.sink }),
    filter.warehouse && c("wordWarehouse", { value: filter.warehouse }),
    filter.type && c("wordType", { value: filter.type }),
    filter.rule && c("wordRule", { value: filter.rule }),
    filter.notice && c("wordNotice", { value: filter.notice }),
    filter.cause && c("wordCause", { value: causeText({ cause: filter.cause }) }),
  ];
  return [first, ...rest].filter(Boolean).join(", ");
}

const page = 1_000;
const most = 5;

/** Counts the deliveries that match a filter, up to a few pages. */
async function count(filter: Schemas["DeliveryFilter"]): Promise<{ count: number; more: boolean }> {
  let found = 0;
  let after: string | undefined;
  for (let i = 0; i < most; i++) {
    const query = { ...filter, limit: page, ...(after ? { after } : {}) };
    const answer = await body(api.GET("/api/v1/deliveries", { params: { query } }));
    found += answer.deliveries.length;
    after = answer.cursor;
    if (!after) return { count: found, more: false };
  }
  return { count: found, more: true };
}

/**
 * Changes all deliveries that match the filter, portion by portion. The question has the filter in words, and the
 * number of deliveries.
 */
export async function changeAll(verb: Verb, of: Filter, after: () => unknown): Promise<boolean> {
  const filter = chosen(verb, of);
  let many: string;
  try {
    const found = await count(filter);
    many = found.count === 0 ? c("noneNow") : c(found.more ? "atLeast" : "exactly", { count: found.count });
  } catch (thrown) {
    actions.fail(thrown);
    return false;
  }
  const action = c(verb === "retry" ? "retryAll" : "cancelAll");
  return actions.run({
    ask: {
      title: c("allTitle", { action, filter: words(filter) }),
      text: c(verb === "retry" ? "retryAllText" : "cancelAllText", { filter: words(filter), many }),
      action,
      danger: verb === "cancel",
      ...(verb === "cancel" ? { reason: "required" as const } : {}),
    },
    run: async ({ reason }) => {
      let changed = 0;
      let cursor: string | undefined;
      do {
        const portion = cursor ? { ...filter, after: cursor } : filter;
        const answer = await changeCall(verb, { filter: portion }, reason);
        changed += answer.changed;
        cursor = answer.cursor;
      } while (cursor);
      return changed;
    },
    done: (changed) => c(verb === "retry" ? "retriedMany" : "canceledMany", { count: changed }),
    after,
  });
}
