import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  export interface ProvidedContext {
    /** The path of the tallyman program under test. */
    tallyman: string;
  }
}

/** The top of the repository. */
export const top = resolve(import.meta.dirname, "../../../../..");

/** Builds the program once for all tests, unless TALLYMAN_BIN names one. */
export default function setup(project: TestProject): (() => void) | undefined {
  const given = process.env["TALLYMAN_BIN"];
  if (given) {
    project.provide("tallyman", resolve(given));
    return undefined;
  }
  const folder = mkdtempSync(join(tmpdir(), "tallyman-bin-"));
  const binary = join(folder, "tallyman");
  execFileSync("go", ["build", "-o", binary, "./cmd/tallyman"], { cwd: top, stdio: "inherit" });
  project.provide("tallyman", binary);
  return () => rmSync(folder, { recursive: true, force: true });
}
