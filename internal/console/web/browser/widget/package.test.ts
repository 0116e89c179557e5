import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { top } from "../support/setup";
import { web, Workshop } from "./package";

let workshop: Workshop;

beforeAll(async () => {
  workshop = await Workshop.open();
}, 120_000);

afterAll(() => workshop.close());

test("npm packs the module, the single file, types and the license, and nothing else", async () => {
  const said = await workshop.run("npm", "node_modules/tallyman-inbox", "pack", "--dry-run", "--json");
  const [packed] = JSON.parse(said) as { name: string; files: { path: string }[] }[];
  expect(packed!.name).toBe("tallyman-inbox");
  expect(packed!.files.map(({ path }) => path).sort()).toEqual([
    "LICENSE",
    "README.md",
    "index.d.ts",
    "package.json",
    "react.d.ts",
    "tallyman-inbox.js",
    "vue.d.ts",
    "widget.js",
  ]);
});

test("the single file of the package is the server's", () => {
  const [packed, served] = [
    join(workshop.package, "widget.js"),
    join(top, "internal/console/dist/widget.js"),
  ];
  expect(readFileSync(packed, "utf8")).toBe(readFileSync(served, "utf8"));
});

test("the module can be loaded where there is no browser", async () => {
  writeFileSync(
    join(workshop.folder, "server.mjs"),
    'import { TallymanInbox } from "tallyman-inbox"; console.log(typeof TallymanInbox);',
  );
  const node = process.execPath;
  const { execFileSync } = await import("node:child_process");
  expect(execFileSync(node, ["server.mjs"], { cwd: workshop.folder, encoding: "utf8" })).toBe("function\n");
});

/** Programs that use the types well, and mark where they use them badly. */
const programs: Record<string, string> = {
  "dom.ts": `
import "tallyman-inbox";
import type { Notice } from "tallyman-inbox";
const inbox = document.createElement("tallyman-inbox");
inbox.server = "https://t.example";
inbox.warehouse = null;
inbox.tokenProvider = async () => "token";
inbox.reconnect();
document.querySelector("tallyman-inbox")?.show();
inbox.addEventListener("tallyman-unread", (event) => event.detail.urgent.toFixed());
addEventListener("tallyman-open", (event) => (event.detail satisfies Notice).title.trim());
// @ts-expect-error: no number
inbox.server = 3;
// @ts-expect-error: no such property
inbox.token = "";
// @ts-expect-error: no such member
inbox.addEventListener("tallyman-unread", (event) => event.detail.title);
`,
  "same.ts": `
import { TallymanInbox as Built } from "../../../src/widget/element";
import type { Notice as Served } from "../../../src/widget/types";
import type { Count as Counted } from "../../../src/widget/store";
import type { Count, Notice, TallymanInbox, TokenProvider } from "tallyman-inbox";
import type { TokenProvider as Asked } from "../../../src/widget/tokens";
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : never;
type Flat<T> = { [K in keyof T]: T[K] };
export const built: new () => TallymanInbox = Built;
export const same: [Same<Flat<Served>, Flat<Notice>>, Same<Flat<Counted>, Flat<Count>>, Same<Asked, TokenProvider>] = [true, true, true];
`,
  "react.tsx": `
import { useRef } from "react";
import type { TallymanInbox } from "tallyman-inbox";
import type {} from "tallyman-inbox/react";
export function Screen() {
  const inbox = useRef<TallymanInbox>(null);
  return (
    <>
      <tallyman-inbox ref={inbox} server="https://t.example" token-provider="wmsToken" className="inbox" />
      <tallyman-inbox tokenProvider={async () => "token"} ontallyman-unread={(event) => event.detail.unread.toFixed()} />
      {/* @ts-expect-error: no number */}
      <tallyman-inbox server={3} />
      {/* @ts-expect-error: no such property */}
      <tallyman-inbox token="secret" />
    </>
  );
}
`,
};

/** Checks programs strictly; react is the folder of the types of React. */
async function check(react: string, ...names: string[]): Promise<void> {
  const folder = `types-${react.replaceAll("/", "-")}-${names[0]}`; // each test has its own
  mkdirSync(join(workshop.folder, folder), { recursive: true });
  for (const name of names) {
    writeFileSync(join(workshop.folder, folder, name), programs[name]!);
  }
  const types = join(web, "node_modules", react);
  const config = {
    extends: join(web, "tsconfig.json"),
    compilerOptions: {
      types: ["vite/client"],
      jsx: "react-jsx",
      skipLibCheck: false,
      paths: { react: [types], "react/*": [`${types}/*`] },
    },
    include: ["*"],
  };
  writeFileSync(join(workshop.folder, folder, "tsconfig.json"), JSON.stringify(config));
  await workshop.run("tsc", folder, "--noEmit");
}

test("the types fit the element and the API, and the element is in HTMLElementTagNameMap", () =>
  check("@types/react", "dom.ts", "same.ts"));
test("the types fit JSX of React 19", () => check("@types/react", "react.tsx"));
test("the types fit JSX of React 18", () => check("@types/react-18", "react.tsx"));
