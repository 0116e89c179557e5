import { expect, test } from "vitest";
import { FakeLocks } from "./fakes";
import { Leader } from "./leader";

/** A candidate that works until its signal ends it. */
function candidate(locks: FakeLocks | undefined) {
  const leader = new Leader("name", locks);
  const life = new AbortController();
  const terms: AbortSignal[] = [];
  const lead = () =>
    leader.lead(life.signal, async (term) => {
      terms.push(term);
      await new Promise<void>((resolve) => term.addEventListener("abort", () => resolve()));
    });
  return { leader, life, terms, lead };
}

test("one leads; when it has gone the next does", async () => {
  const locks = new FakeLocks();
  const [a, b] = [candidate(locks), candidate(locks)];
  const first = a.lead();
  const second = b.lead();
  await locks.settled();
  expect([a.leader.leads, b.leader.leads]).toEqual([true, false]);
  a.life.abort();
  await first;
  await locks.settled();
  expect([a.leader.leads, b.leader.leads]).toEqual([false, true]);
  b.life.abort();
  await second;
  expect(locks.held).toBe(0);
});

test("who waits can give up", async () => {
  const locks = new FakeLocks();
  const [a, b] = [candidate(locks), candidate(locks)];
  const first = a.lead();
  const second = b.lead();
  b.life.abort();
  await second;
  a.life.abort();
  await first;
  expect(b.terms).toHaveLength(0);
});

test("a leader that has frozen is replaced, and its work ends", async () => {
  const locks = new FakeLocks();
  const [a, b] = [candidate(locks), candidate(locks)];
  const first = a.lead();
  const waiting = b.lead();
  await locks.settled();
  b.leader.takeOver();
  await waiting;
  const second = b.lead();
  await first;
  await locks.settled();
  expect([a.leader.leads, b.leader.leads]).toEqual([false, true]);
  expect(a.terms[0]?.aborted).toBe(true);
  b.life.abort();
  await second;
});

test("what goes wrong in the work is told", async () => {
  const leader = new Leader("name", new FakeLocks());
  await expect(
    leader.lead(new AbortController().signal, () => Promise.reject(new Error("no entry"))),
  ).rejects.toThrow("no entry");
  expect(leader.leads).toBe(false);
});

test("without locks everybody leads", async () => {
  const [a, b] = [candidate(undefined), candidate(undefined)];
  const both = [a.lead(), b.lead()];
  expect([a.leader.leads, b.leader.leads, a.leader.alone]).toEqual([true, true, true]);
  a.life.abort();
  b.life.abort();
  await Promise.all(both);
});
