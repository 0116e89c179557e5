import { createRouter } from "sv-router";
import Missing from "./Missing.svelte";
import { unloaded } from "./unloaded";

/**
 * The addresses of the console. A page is loaded when it is first opened: the router knows such a page by its `() =>
 * import`.
 */
export const { p, navigate, isActive, route, preload } = createRouter({
  "/": () => import("../pages/overview/Overview.svelte").catch(unloaded),
  "/rules": () => import("../pages/rules/Rules.svelte").catch(unloaded),
  "/rules/:id": () => import("../pages/rules/Rule.svelte").catch(unloaded),
  "/notices": () => import("../pages/notices/Notices.svelte").catch(unloaded),
  "/notices/:id": () => import("../pages/notices/Notice.svelte").catch(unloaded),
  "/queues": () => import("../pages/queues/Queues.svelte").catch(unloaded),
  "/queues/:queue": () => import("../pages/queues/Queue.svelte").catch(unloaded),
  "/queues/:queue/items/:id": () => import("../pages/queues/Item.svelte").catch(unloaded),
  "/deliveries": () => import("../pages/deliveries/Deliveries.svelte").catch(unloaded),
  "/subscriptions": () => import("../pages/subscriptions/Subscriptions.svelte").catch(unloaded),
  "/types": () => import("../pages/types/Types.svelte").catch(unloaded),
  "/silences": () => import("../pages/silences/Silences.svelte").catch(unloaded),
  "/tokens": () => import("../pages/tokens/Tokens.svelte").catch(unloaded),
  "/audit": () => import("../pages/audit/Audit.svelte").catch(unloaded),
  "*": Missing,
});
