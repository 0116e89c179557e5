import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Failure } from "../api/failure";
import { Pages, type PageOf } from "./pages.svelte";

interface Row {
  id: number;
  text: string;
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A list of numbers that the server has, the latest first, two to a page. */
class Server {
  rows: Row[] = [5, 4, 3, 2, 1].map((id) => ({ id, text: "old" }));
  failure: Failure | undefined;
  asked: (string | undefined)[] = [];

  load = async (after: string | undefined): Promise<PageOf<Row>> => {
    this.asked.push(after);
    if (this.failure) throw this.failure;
    const rows = this.rows.filter((row) => after === undefined || row.id < Number(after)).slice(0, 2);
    const last = rows.at(-1);
    return { rows, next: last && last.id > 1 ? String(last.id) : undefined };
  };
}

async function begun(server: Server): Promise<Pages<Row>> {
  const pages = new Pages(server.load, (row) => row.id);
  await pages.reload();
  return pages;
}

const ids = (pages: Pages<Row>) => pages.data?.map((row) => row.id);

test("pages follow one another to the end, each asked for once", async () => {
  const server = new Server();
  const pages = await begun(server);
  expect(ids(pages)).toEqual([5, 4]);
  await Promise.all([pages.more(), pages.more()]);
  await pages.more();
  await pages.more();
  expect(ids(pages)).toEqual([5, 4, 3, 2, 1]);
  expect(server.asked).toEqual([undefined, "4", "2"]);
});

test("new rows are counted and move nothing until they are shown; changed ones change in place", async () => {
  const server = new Server();
  const pages = await begun(server);
  server.rows = [{ id: 6, text: "new" }, { id: 5, text: "changed" }, ...server.rows.slice(1)];
  await pages.look();
  expect(ids(pages)).toEqual([5, 4]);
  expect(pages.data?.[0]?.text).toBe("changed");
  expect([pages.fresh, pages.freshMore]).toEqual([1, false]);
  server.rows = [{ id: 8, text: "new" }, { id: 7, text: "new" }, ...server.rows];
  vi.advanceTimersByTime(60_000);
  await pages.look();
  expect([pages.fresh, pages.freshMore]).toEqual([2, true]);
  await pages.reload();
  expect(ids(pages)).toEqual([8, 7]);
  expect(pages.fresh).toBe(0);
});

test("the top is not looked at all the time, and at last once more", async () => {
  const server = new Server();
  const pages = await begun(server);
  for (let i = 0; i < 5; i++) await pages.look();
  expect(server.asked).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(server.asked).toHaveLength(3);
});

test("what is left does not look any more", async () => {
  const server = new Server();
  const pages = new Pages(server.load, (row) => row.id);
  const stop = pages.start();
  await vi.advanceTimersByTimeAsync(0);
  await pages.look();
  await pages.look();
  stop();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(server.asked).toHaveLength(2);
});

test("a page that does not come leaves what is there, and can be asked for again", async () => {
  const server = new Server();
  const pages = await begun(server);
  server.failure = new Failure("busy", 503, "ledger_unavailable", "away");
  await pages.more();
  expect(pages.broken?.message).toBe("away");
  expect(ids(pages)).toEqual([5, 4]);
  server.failure = undefined;
  await pages.more();
  expect(pages.broken).toBeUndefined();
  expect(ids(pages)).toEqual([5, 4, 3, 2]);
});

test("what fails at first has a failure and no rows", async () => {
  const server = new Server();
  server.failure = new Failure("forbidden", 403, "role_missing", "no");
  const pages = await begun(server);
  expect(pages.failure?.kind).toBe("forbidden");
  expect(pages.data).toBeUndefined();
  expect(pages.loading).toBe(false);
});
