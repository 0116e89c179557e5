import assert from "node:assert/strict";
import { mkdtemp, readFile, writeFile, appendFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { Client, failAfter, FileStore, giveBack, Inbox, LeaseLost, ProblemError, Queue, suspend, type Step } from "../src/index.js";

type Answer = (url: URL, body: any, response: ServerResponse) => unknown;

/** A client of a server that answers with JSON, or not at all where there is nothing to say. */
async function clientOf(t: TestContext, answer: Answer): Promise<Client> {
  const server = createServer(async (request: IncomingMessage, response) => {
    let text = "";
    for await (const part of request) text += part;
    const said = await answer(new URL(request.url ?? "", "http://x"), text && JSON.parse(text), response);
    if (said === undefined) return;
    response.setHeader("Content-Type", response.statusCode < 400 ? "application/json" : "application/problem+json");
    response.end(JSON.stringify(said));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return new Client({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token: "secret" });
}

const file = async () => join(await mkdtemp(join(tmpdir(), "tallyman-")), "cursor");
const page = (cursor: string, ids: string[], more = {}) => ({ cursor, notices: ids.map((id) => ({ id })), changes: [], reset: false, more: false, ...more });

test("follow goes on where it was", async (t) => {
  const path = await file();
  const broken = await clientOf(t, (url) => (url.searchParams.has("after") ? undefined : page("c1", ["n_1", "n_2"])));
  const first = new Inbox(broken, { store: new FileStore(path) });
  await assert.rejects(
    first.follow(({ id }) => {
      if (id === "n_2") throw new Error("out of paper");
    }),
    /out of paper/,
  );
  await appendFile(path, '{"handled":"n_'); // a kill has cut the line off
  const client = await clientOf(t, (url) => {
    const after = url.searchParams.get("after");
    if (after === null) return page("c1", ["n_1", "n_2"]);
    return after === "c1" ? page("c2", ["n_1", "n_3"], { reset: true, resetReason: "index_rebuilt", missed: 2 }) : undefined;
  });
  const stop = new AbortController();
  const handled: string[] = [];
  const resets: unknown[] = [];
  const second = new Inbox(client, { store: new FileStore(path), onReset: (reset) => void resets.push(reset) });
  await second.follow(
    ({ id }) => {
      handled.push(id);
      if (id === "n_3") stop.abort();
    },
    { signal: stop.signal },
  );
  assert.deepEqual([handled, resets], [["n_2", "n_3"], [{ reason: "index_rebuilt", missed: 2 }]]);
  assert.deepEqual(await new FileStore(path).load(), { cursor: "c2", handled: ["n_1", "n_2", "n_3"] });
});

test("follow tries again after the time that the service asks for, and ends with a refusal", async (t) => {
  const store = new FileStore(await file());
  await store.load();
  await store.save({ cursor: "old" } satisfies Step);
  const asked: number[] = [];
  const client = await clientOf(t, (url, _, response) => {
    asked.push(Date.now());
    if (asked.length === 1) {
      response.setHeader("Retry-After", "1");
      response.statusCode = 503;
      return { code: "inbox_unavailable", detail: "" };
    }
    response.statusCode = url.searchParams.has("after") ? 400 : 403;
    return { code: url.searchParams.has("after") ? "bad_cursor" : "warehouse_denied", detail: "" };
  });
  const reasons: string[] = [];
  const inbox = new Inbox(client, { store, onReset: ({ reason }) => void reasons.push(reason), onRetry: () => {} });
  await assert.rejects(inbox.follow(() => {}), (error) => error instanceof ProblemError && error.code === "warehouse_denied");
  assert.deepEqual([reasons, asked.length], [["bad_cursor"], 3]);
  assert.ok(asked[1]! - asked[0]! >= 1000);
});

test("a file of another program is left as it is", async () => {
  const texts = ["buy milk\n", "buy milk", "{}\n", '{"a":1}\n{"b":2}\n', '{"cursor":"c1","name":"x"}\n', '{"handled":"n_1"}\n', '{"cursor":1}\n', "[1]\n", "null", "\n"];
  for (const text of texts) {
    const path = await file();
    await writeFile(path, text);
    await assert.rejects(new FileStore(path).load(), /is not a file of a follower/, text);
    assert.equal(await readFile(path, "utf8"), text);
  }
});

/** Gives out items once and notes what becomes of them. */
function queueOf(ids: string[], lost?: string) {
  const told: string[] = [];
  const extended: string[] = [];
  const answer: Answer = async (_, step) => {
    const results = (step.ops ?? []).map(({ op, id }: { op: string; id: string }) => {
      (op === "extend" ? extended : told).push(op === "extend" ? id : `${op} ${id}`);
      return { op, id, outcome: op === "extend" && id === lost ? "lease_lost" : "ok" };
    });
    const items = step.requestId ? ids.splice(0, step.max).map((id) => ({ id, attempt: 1, payload: {} })) : [];
    if (step.wait && items.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    return { results, items };
  };
  return { told, extended, answer };
}

test("work tells what became of items", async (t) => {
  const queue = queueOf(["done", "error", "back", "suspend", "later"]);
  const stop = new AbortController();
  const worker = new Queue(await clientOf(t, queue.answer), { name: "replenishment" });
  await worker.work(
    ({ id }) => {
      if (id === "error") throw new Error("no bin\0");
      if (id === "back") return giveBack("closed");
      if (id === "suspend") return suspend("no stock");
      if (id !== "later") return;
      stop.abort();
      return failAfter(60_000, "busy");
    },
    { signal: stop.signal },
  );
  assert.deepEqual(queue.told, ["ack done", "nack error", "release back", "suspend suspend", "nack later"]);
});

test("work drains on a stop: the handler finishes under its lease, and the rest goes back", async (t) => {
  const queue = queueOf(["one", "two", "three"]);
  const stop = new AbortController();
  const worker = new Queue(await clientOf(t, queue.answer), { name: "replenishment", prefetch: 2, leaseMs: 3000 });
  await worker.work(
    async (_, signal) => {
      stop.abort();
      while (queue.extended.filter((id) => id === "one").length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
      assert.equal(signal.aborted, false);
    },
    { signal: stop.signal },
  );
  assert.deepEqual(queue.told.sort(), ["ack one", "release three", "release two"]);
});

test("work ends the handler of an item that is lost, and tells the queue nothing", async (t) => {
  const queue = queueOf(["one"], "one");
  const stop = new AbortController();
  const worker = new Queue(await clientOf(t, queue.answer), { name: "replenishment", leaseMs: 3000, warn: () => {} });
  await worker.work(
    async (_, signal) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      assert.ok(signal.reason instanceof LeaseLost);
      stop.abort();
    },
    { signal: stop.signal },
  );
  assert.deepEqual(queue.told, []);
});
