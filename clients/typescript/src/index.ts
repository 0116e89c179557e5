// Follows inboxes of Tallyman and works on its queues. All other operations are in Client.api, whose types come from the OpenAPI document.
export { Client, type ClientOptions } from "./client.js";
export { Inbox, type Change, type InboxOptions, type Notice, type Reset } from "./inbox.js";
export { failAfter, giveBack, LeaseLost, passTo, storeFor, suspend, type Outcome } from "./outcome.js";
export { ProblemError, type Problem } from "./problem.js";
export { Queue, type Item, type QueueOptions } from "./queue.js";
export { FileStore, REMEMBER_MS, type Place, type Step, type Store } from "./store.js";
export type { components, operations, paths } from "./schema.js";
