// Uses the types that openapi-typescript makes of the OpenAPI document, through openapi-fetch, against the server of TALLYMAN_URL with the
// token of TALLYMAN_TOKEN. schema.d.ts is made by scripts/clients.sh; it is not committed.
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

type Problem = components["schemas"]["Problem"];

const type = "TS_NOTICE";
const warehouse = "119240";
const subscriber = "user:ts";
const queue = "replenishment";
const item = "ts-1";
const rule = "empty-bin";

const api = createClient<paths>({
  baseUrl: process.env.TALLYMAN_URL ?? "",
  headers: { Authorization: `Bearer ${process.env.TALLYMAN_TOKEN ?? ""}` },
  signal: AbortSignal.timeout(60_000),
});

/** The data of an answer that is expected to have some. */
function body<T>(operation: string, answer: { data?: T; error?: Problem; response: Response }): T {
  if (answer.data === undefined) {
    assert.fail(`${operation} answers ${answer.response.status} ${JSON.stringify(answer.error)}`);
  }
  return answer.data;
}

/** Adds a type and a subscription, and finds both again. */
async function catalogue() {
  const names = { zh: "测试" };
  const fields = { bin: { type: "string" as const }, qty: { type: "int" as const } };
  const made = body("create-type", await api.POST("/api/v1/types", { body: { code: type, id: 4003, name: "A notice", names, fields } }));
  assert.equal(made.names?.zh, "测试");
  const { types } = body("list-types", await api.GET("/api/v1/types"));
  assert.ok(types.some(({ code }) => code === type));
  const subscription = { type, warehouse, subscriber };
  const added = await api.POST("/api/v1/subscriptions", { body: subscription });
  assert.equal(added.response.status, 201);
  assert.deepEqual(body("create-subscription", added), subscription);
  const list = await api.GET("/api/v1/subscriptions", { params: { query: { subscriber, limit: 10 } } });
  const { subscriptions } = body("list-subscriptions", list);
  assert.deepEqual(subscriptions.map(({ type, warehouse, subscriber }) => ({ type, warehouse, subscriber })), [subscription]);
  assert.match(subscriptions[0]?.warning ?? "", /^subscription_unserved: /); // no rule makes notices of the type
}

/** Sends a notice, polls it, reads it, and learns that nothing else is new. */
async function notices() {
  const sent = await api.POST("/api/v1/notices", {
    params: { header: { "Idempotency-Key": "ts-1" } },
    body: { notices: [{ type, warehouse, title: "Bin A-01", data: { bin: "A-01", qty: 3 }, labels: { area: "test" } }] },
  });
  const id = body("send-notices", sent).notices[0]?.id;
  const inbox = { warehouse, subscriber: [subscriber, "role:ts"], limit: 5 };
  const page = body("poll-notices", await api.GET("/api/v1/notices", { params: { query: { ...inbox, wait: "30s" } } }));
  assert.equal(page.notices.length, 1);
  const notice = page.notices[0]!;
  const episode: string = notice.episode;
  assert.deepEqual(
    [notice.id, notice.title, notice.status, notice.data, notice.labels, notice.read, typeof episode],
    [id, "Bin A-01", "sent", { bin: "A-01", qty: 3 }, { area: "test" }, false, "string"],
  );
  assert.notEqual(episode, "");
  const read = await api.POST("/api/v1/notices/{id}/read", {
    params: { path: { id: notice.id }, query: { warehouse, subscriber: [subscriber] } },
  });
  assert.equal(read.response.status, 204);
  const next = await api.GET("/api/v1/notices", { params: { query: { ...inbox, after: page.cursor } } });
  assert.deepEqual(body("poll-notices", next).changes, [{ id: notice.id, kind: "read" }]);
  const same = await api.GET("/api/v1/notices", {
    params: { query: { ...inbox, after: next.data!.cursor }, header: { "If-None-Match": next.response.headers.get("ETag")! } },
  });
  assert.equal(same.response.status, 304);
}

/** Pushes an item, leases it and ends it. */
async function work() {
  const path = { queue };
  body("push-items", await api.POST("/api/v1/queues/{queue}/items", {
    params: { path },
    body: { items: [{ id: item, payload: { bin: "A-01" }, priority: 4 }] },
  }));
  const leased = body("lease-items", await api.POST("/api/v1/queues/{queue}/lease", {
    params: { path },
    body: { worker: "ts", max: 1, wait: "10s", lease: "60s" },
  }));
  assert.deepEqual(leased.items.map(({ id, payload, priority }) => ({ id, payload, priority })), [{ id: item, payload: { bin: "A-01" }, priority: 4 }]);
  const { attempt } = leased.items[0]!;
  const ack = () => api.POST("/api/v1/queues/{queue}/items/{id}/ack", { params: { path: { queue, id: item } }, body: { attempt, worker: "ts" } });
  body("ack-item", await ack());
  const late = await ack();
  assert.equal(late.error?.code, "lease_lost");
}

/** Stops a rule, sees that it is stopped, and lets it run again. */
async function rules() {
  const list = body("list-rules", await api.GET("/api/v1/rules", { params: { query: { limit: 1, id: [rule] } } }));
  assert.deepEqual(list.rules.map(({ id }) => id), [rule]);
  const params = { path: { id: rule } };
  body("disable-rule", await api.POST("/api/v1/rules/{id}/disable", { params, body: { for: "1h", reason: "the TypeScript client tries it" } }));
  const shown = body("get-rule", await api.GET("/api/v1/rules/{id}", { params }));
  assert.deepEqual(shown.scopes.map(({ enabled, switch: by }) => [enabled, by?.reason]), [[false, "the TypeScript client tries it"]]);
  body("clear-rule", await api.POST("/api/v1/rules/{id}/clear", { params }));
}

/** Sees what is wrong, as a program and in its place. */
async function problems() {
  const again = await api.POST("/api/v1/types", { body: { code: type, id: 4004, name: "Another one" } });
  assert.deepEqual([again.response.status, again.error?.status, again.error?.code], [409, 409, "type_exists"]);
  const bad = await api.POST("/api/v1/types", { body: { code: "TS BAD", id: 0, name: "" } });
  assert.equal(bad.error?.code, "invalid_body");
  assert.ok(bad.error?.errors?.every(({ location, message }) => location && message));
  const missing = await api.GET("/api/v1/types/{code}", { params: { path: { code: "NOTHING" } } });
  assert.equal(missing.error?.code, "unknown_type");
}

for (const step of [catalogue, notices, work, rules, problems]) {
  await step();
}
console.log("typescript client: all is well");
