import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Client } from "./client";
import { Tokens } from "./tokens";

const fetched = vi.fn<(url: string, init: RequestInit) => Promise<Response>>();
const provider = vi.fn(async () => `tly_${provider.mock.calls.length}`);
const { signal } = new AbortController();

beforeEach(() => vi.stubGlobal("fetch", fetched));
afterEach(() => {
  vi.unstubAllGlobals();
  fetched.mockReset();
  provider.mockClear();
});

function client(place: Partial<Client["place"]> = {}): Client {
  const all = {
    server: "https://t.example",
    warehouse: "W 1",
    subscribers: ["user:ann", "role:keeper"],
    language: "de, en;q=0.9",
    ...place,
  };
  return new Client(all, new Tokens(provider));
}

const headers = (call: number) => fetched.mock.calls[call]![1].headers as Record<string, string>;
const problem =
  (status: number, body: object, more: HeadersInit = {}) =>
  async () =>
    new Response(JSON.stringify(body), { status, headers: more });

test("a poll names the place, the cursor and the tag, and never the token in its address", async () => {
  fetched.mockImplementation(async () => new Response(null, { status: 304 }));
  expect(await client().poll("c1", "t1", 25, signal)).toEqual({ tag: "t1" });
  expect(fetched.mock.calls[0]![0]).toBe(
    "https://t.example/api/v1/notices?warehouse=W+1&after=c1&wait=25s&subscriber=user%3Aann&subscriber=role%3Akeeper",
  );
  expect(headers(0)).toMatchObject({
    Authorization: "Bearer tly_1",
    "If-None-Match": "t1",
    "Accept-Language": "de, en;q=0.9",
  });
});

test("what the token gives is not asked for", async () => {
  fetched.mockImplementation(async () => Response.json({ cursor: "c1" }, { headers: { ETag: "t1" } }));
  await client({ warehouse: "", subscribers: [] }).poll("", "", 0, signal);
  expect(fetched.mock.calls[0]![0]).toBe("https://t.example/api/v1/notices?limit=200");
  fetched.mockImplementation(async () => new Response(null, { status: 204 }));
  await client({ warehouse: "", subscribers: [] }).readAll("c9", signal);
  expect(fetched.mock.calls[1]![1].body).toBe('{"upTo":"c9"}');
});

test("a token that is refused is replaced once", async () => {
  const refusal = problem(401, { code: "token_expired", detail: "it has expired" });
  fetched
    .mockImplementationOnce(refusal)
    .mockImplementationOnce(async () => new Response(null, { status: 204 }));
  await client().mark("n/1", "acked", signal);
  expect(fetched.mock.calls[1]![0]).toContain("/notices/n%2F1/ack?");
  expect([headers(0), headers(1)].map((each) => each["Authorization"])).toEqual([
    "Bearer tly_1",
    "Bearer tly_2",
  ]);
  fetched.mockImplementation(refusal);
  await expect(client().mark("n_1", "read", signal)).rejects.toMatchObject({
    trouble: "unauthorised",
    code: "token_expired",
    message: "it has expired",
  });
  expect(fetched).toHaveBeenCalledTimes(4);
});

test("a refusal says what the server says, and when to come again", async () => {
  fetched.mockImplementation(
    problem(503, { code: "inbox_unavailable", detail: "rebuilding" }, { "Retry-After": "7" }),
  );
  await expect(client().summary(signal)).rejects.toMatchObject({
    trouble: "error",
    status: 503,
    code: "inbox_unavailable",
    retryAfter: 7000,
  });
  fetched.mockImplementation(problem(403, { code: "warehouse_denied", detail: "not yours" }));
  await expect(client().summary(signal)).rejects.toMatchObject({
    trouble: "forbidden",
    retryAfter: undefined,
  });
  fetched.mockImplementation(
    async () => new Response("<p>Bad Gateway</p>", { status: 502, statusText: "Bad Gateway" }),
  );
  await expect(client().summary(signal)).rejects.toMatchObject({
    trouble: "error",
    message: "502 Bad Gateway",
  });
});

test("a stream goes on from a cursor, and is nothing but a stream", async () => {
  const stream = () => new Response(": \n\n", { headers: { "Content-Type": "text/event-stream" } });
  fetched.mockImplementationOnce(async () => stream());
  await client().stream("c1", signal);
  expect(headers(0)).toMatchObject({ "Last-Event-ID": "c1", Accept: "text/event-stream" });
  fetched.mockImplementationOnce(
    async () => new Response("<p>Welcome</p>", { headers: { "Content-Type": "text/html" } }),
  );
  await expect(client().stream("", signal)).rejects.toMatchObject({ code: "no_stream" });
});
