import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { jwt } from "./fixtures";
import { claims, identity, Tokens } from "./tokens";

beforeEach(() => vi.useFakeTimers({ now: Date.parse("2026-06-01T12:00:00Z") }));
afterEach(() => vi.useRealTimers());

const inSeconds = (seconds: number) => Date.now() / 1000 + seconds;

test("the provider is asked once, and again when the token was refused", async () => {
  const provider = vi.fn(async () => "tly_1");
  const tokens = new Tokens(provider);
  expect(await Promise.all([tokens.get(), tokens.get()])).toEqual(["tly_1", "tly_1"]);
  expect(tokens.expiresIn()).toBe(Infinity);
  tokens.forget();
  await tokens.get();
  expect(provider).toHaveBeenCalledTimes(2);
});

test("a JWT is renewed before it expires", async () => {
  const provider = vi.fn(() => jwt({ sub: "ann", exp: inSeconds(300) }));
  const tokens = new Tokens(provider);
  await tokens.get();
  expect(tokens.expiresIn()).toBe(270_000);
  vi.setSystemTime(Date.now() + 269_000);
  await tokens.get();
  expect(provider).toHaveBeenCalledTimes(1);
  vi.setSystemTime(Date.now() + 1000);
  await tokens.get();
  expect(provider).toHaveBeenCalledTimes(2);
});

test("a provider that fails is asked again, and its words are the reason", async () => {
  let fails = true;
  const tokens = new Tokens(() => {
    if (fails) throw new Error("the session is over");
    return "tly_1";
  });
  await expect(tokens.get()).rejects.toMatchObject({
    trouble: "unauthorised",
    message: "the session is over",
  });
  fails = false;
  expect(await tokens.get()).toBe("tly_1");
});

test("a page without a provider has no token", async () => {
  expect(await new Tokens(() => undefined).get()).toBe("");
});

test("renewed tokens of one user are one identity, other users and other rights are not", () => {
  const first = jwt({ sub: "ann", roles: ["keeper"], exp: 1, iat: 0, jti: "a" });
  expect(identity(jwt({ sub: "ann", roles: ["keeper"], exp: 2, iat: 1, jti: "b" }))).toBe(identity(first));
  expect(identity(jwt({ sub: "bob", roles: ["keeper"], exp: 1 }))).not.toBe(identity(first));
  expect(identity(jwt({ sub: "ann", roles: ["picker"], exp: 1 }))).not.toBe(identity(first));
  expect(identity("tly_a")).not.toBe(identity("tly_b"));
});

test("claims are read as UTF-8, and what is no JWT has none", () => {
  expect(claims(jwt({ sub: "安" }))).toEqual({ sub: "安" });
  expect(claims("tly_secret")).toEqual({});
  expect(claims("a.%%.c")).toEqual({});
});
