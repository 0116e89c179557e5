import { flushSync } from "svelte";
import { expect, test, vi } from "vitest";
import { Failure } from "../api/failure";
import { live } from "../api/live.svelte";
import { resource, type Resource } from "./resource.svelte";

/** Answers that the test gives when it wants to. */
function server<T>() {
  const asked: { signal: AbortSignal; answer: (value: T) => void; refuse: (thrown: unknown) => void }[] = [];
  const load = (signal: AbortSignal) =>
    new Promise<T>((answer, refuse) => asked.push({ signal, answer, refuse }));
  return { asked, load };
}

/** Makes the resource as a component would. */
function within<T>(make: () => Resource<T>): { made: Resource<T>; destroy: () => void } {
  let made: Resource<T> | undefined;
  const destroy = $effect.root(() => {
    made = make();
  });
  flushSync();
  return { made: made as Resource<T>, destroy };
}

const settled = () => vi.waitFor(() => {}); // lets promises run

test("an answer that was overtaken is thrown away", async () => {
  const { asked, load } = server<string>();
  let parameter = $state("a");
  const { made, destroy } = within(() => resource((signal) => (void parameter, load(signal))));
  parameter = "b";
  flushSync();
  expect(asked).toHaveLength(2);
  expect(asked[0]?.signal.aborted).toBe(true);
  asked[1]?.answer("second");
  await settled();
  asked[0]?.answer("first");
  await settled();
  expect(made.data).toBe("second");
  expect(made.loading).toBe(false);
  destroy();
});

test("what was shown stays while it loads again, and when that fails", async () => {
  const { asked, load } = server<string>();
  const { made, destroy } = within(() => resource(load));
  asked[0]?.answer("old");
  await settled();
  const reloaded = made.reload();
  expect(made.data).toBe("old");
  asked[1]?.refuse(new Failure("busy", 503, "x", "down"));
  await reloaded;
  expect(made.data).toBe("old");
  expect(made.failure?.message).toBe("down");
  const again = made.reload();
  asked[2]?.answer("new");
  await again;
  expect([made.data, made.failure]).toEqual(["new", undefined]);
  destroy();
});

test("a live one loads again when the server says that something has changed, others do not", async () => {
  const follows = server<number>();
  const rests = server<number>();
  const one = within(() => resource(follows.load, { live: true }));
  const two = within(() => resource(rests.load));
  live.tick++;
  flushSync();
  expect(follows.asked).toHaveLength(2);
  expect(rests.asked).toHaveLength(1);
  one.destroy();
  two.destroy();
  live.tick++;
  flushSync();
  expect(follows.asked).toHaveLength(2);
  expect(follows.asked[1]?.signal.aborted || follows.asked[0]?.signal.aborted).toBe(true);
});
