import type { Server, ServerOptions } from "../support/server";

/** Two queues: one with suspend steps, one without. */
export const site: ServerOptions = {
  config: `sinks:
  inbox: {type: inbox}
  picking: {type: queue, timezone: Asia/Shanghai, lease: 1h, max_attempts: 1, suspend_steps: [2h], events: {sink: gateway, on: [dead, done]}}
  returns: {type: queue, suspend_steps: []}
  gateway: {type: stdout}
`,
};

/** An item as the API tells it. */
export interface ItemAnswer {
  id: string;
  state: string;
  attempt: number;
  failures: number;
  priority: number;
  payload: unknown;
  assignee?: string;
  order?: string;
  worker?: string;
  trace: { to: string; by?: string; note?: string }[];
}

/** Pushes items of a name each. */
export async function push(server: Server, queue: string, ids: string[], more: object = {}): Promise<void> {
  const items = ids.map((id) => ({ id, payload: { bin: id }, ...more }));
  await server.call("POST", `/api/v1/queues/${queue}/items`, { items });
}

export async function item(server: Server, queue: string, id: string, twin = false): Promise<ItemAnswer> {
  return server.call<ItemAnswer>("GET", `/api/v1/queues/${queue}/items/${id}${twin ? "?test=true" : ""}`);
}

/** Leases one item and returns it. */
export async function lease(
  server: Server,
  queue: string,
  worker: string,
): Promise<{ id: string; attempt: number }> {
  const answer = await server.call<{ items: { id: string; attempt: number }[] }>(
    "POST",
    `/api/v1/queues/${queue}/lease`,
    { worker },
  );
  const [got] = answer.items;
  if (!got) throw new Error(`${queue} has nothing to lease`);
  return got;
}
