import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "vite";
import { top } from "../support/setup";

/** The folder of the console's source, whose packages the examples and the checks of types are given. */
export const web = join(top, "internal/console/web");

const temporary = join(web, "tmp");
const run = promisify(execFile);

/** npm's package of the widget, beside a copy of the examples, where packages are found as in a project that has installed them. */
export class Workshop {
  /** Below the console's source, so that its packages are found. */
  readonly folder = mkdtempSync(join(temporary, "examples-"));

  /** npm's package. */
  get package(): string {
    return join(this.folder, "node_modules/tallyman-inbox");
  }

  static async open(): Promise<Workshop> {
    mkdirSync(temporary, { recursive: true });
    const workshop = new Workshop();
    cpSync(join(top, "examples/widget"), join(workshop.folder, "widget"), {
      recursive: true,
      filter: (path) => !path.includes("node_modules"),
    });
    for (const mode of ["production", "package"]) {
      await build({
        root: web,
        configFile: join(web, "vite.widget.config.ts"),
        mode,
        logLevel: "warn",
        build: { outDir: workshop.package },
      });
    }
    return workshop;
  }

  /** Builds an example, and returns the folder of its pages. */
  async build(example: string): Promise<string> {
    const outDir = join(this.folder, "built", example);
    const root = join(this.folder, "widget", example);
    await build({ root, base: "./", logLevel: "warn", build: { outDir, emptyOutDir: true } });
    return outDir;
  }

  /** Runs a program of the console's packages in a folder; throws what it says where it fails. */
  async run(program: string, folder: string, ...args: string[]): Promise<string> {
    const path = program === "npm" ? "npm" : join(web, "node_modules/.bin", program);
    try {
      return (await run(path, args, { cwd: join(this.folder, folder) })).stdout;
    } catch (failed) {
      const { stdout, stderr } = failed as { stdout: string; stderr: string };
      throw new Error(`${program} ${args.join(" ")} in ${folder}:\n${stdout}${stderr}`, { cause: failed });
    }
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
