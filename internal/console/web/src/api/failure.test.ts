import { expect, test } from "vitest";
import { Failure } from "./failure";

test("a problem of the API is read whole", async () => {
  const problem = {
    code: "role_missing",
    detail: "your token may not do this",
    requestId: "a-1",
    errors: [{ message: "x" }],
  };
  const failure = await Failure.of(new Response(JSON.stringify(problem), { status: 403 }));
  expect(failure).toMatchObject({
    kind: "forbidden",
    status: 403,
    code: "role_missing",
    message: "your token may not do this",
    requestId: "a-1",
    faults: [{ message: "x" }],
  });
});

test("an answer of something between us and the server is told as it is", async () => {
  const failure = await Failure.of(new Response("<html>", { status: 502, statusText: "Bad Gateway" }));
  expect(failure).toMatchObject({ kind: "busy", message: "502 Bad Gateway", code: "unknown" });
});

test.each([
  [400, "invalid"],
  [401, "unauthorised"],
  [404, "missing"],
  [409, "conflict"],
  [422, "invalid"],
  [429, "busy"],
  [500, "error"],
  [503, "busy"],
])("%i is %s", async (status, kind) => {
  expect((await Failure.of(new Response("{}", { status }))).kind).toBe(kind);
});

test("whatever is thrown becomes a failure", () => {
  expect(Failure.from("x").message).toBe("x");
  expect(Failure.from(new TypeError("y")).message).toBe("y");
});
