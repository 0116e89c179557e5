import { createRouter } from "sv-router";
import Missing from "./Missing.svelte";

/** The addresses of the console. Each page is loaded when it is opened first. */
export const { p, navigate, isActive, route, preload } = createRouter({
  "/": () => import("../pages/overview/Overview.svelte"),
  "/rules": () => import("../pages/rules/Rules.svelte"),
  "/rules/:id": () => import("../pages/rules/Rule.svelte"),
  "/notices": () => import("../pages/notices/Notices.svelte"),
  "/notices/:id": () => import("../pages/notices/Notice.svelte"),
  "/queues": () => import("../pages/queues/Queues.svelte"),
  "/queues/:queue": () => import("../pages/queues/Queue.svelte"),
  "/queues/:queue/items/:id": () => import("../pages/queues/Item.svelte"),
  "/deliveries": () => import("../pages/deliveries/Deliveries.svelte"),
  "/subscriptions": () => import("../pages/subscriptions/Subscriptions.svelte"),
  "/types": () => import("../pages/types/Types.svelte"),
  "/silences": () => import("../pages/silences/Silences.svelte"),
  "/tokens": () => import("../pages/tokens/Tokens.svelte"),
  "/audit": () => import("../pages/audit/Audit.svelte"),
  "*": Missing,
});
