import { type ChildProcess, spawn } from "node:child_process";
import { inject } from "vitest";
import { freePort } from "./server";
import { until } from "./until";

/** A `tallyman demo`: a warehouse at work, which asks for no token. */
export class Demo {
  private constructor(
    private readonly process: ChildProcess,
    /** Its address, without a slash at the end. */
    readonly address: string,
    /** The address of its page of a WMS, which has the widget. */
    readonly wms: string,
  ) {}

  /** Starts a demo and waits until it answers. */
  static async start(...flags: string[]): Promise<Demo> {
    const port = await freePort();
    const child = spawn(inject("tallyman"), ["demo", "--listen", `127.0.0.1:${port}`, ...flags], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let log = "";
    child.stdout.on("data", (chunk: Buffer) => (log += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (log += chunk.toString()));
    const address = `http://127.0.0.1:${port}`;
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`tallyman demo has ended:\n${log}`);
      return (await fetch(`${address}/readyz`).catch(() => undefined))?.ok;
    }, "the demo to be ready");
    const wms = await until(() => /a page of a WMS +(\S+)\//.exec(log)?.[1], "the address of the WMS");
    return new Demo(child, address, wms);
  }

  /** Reads something of the API. */
  async get<T>(path: string): Promise<T> {
    return (await (await this.ask(path)).json()) as T;
  }

  /** Changes something through the API. */
  async post(path: string, body: unknown): Promise<void> {
    const headers = { "Content-Type": "application/json" };
    await this.ask(path, { method: "POST", headers, body: JSON.stringify(body) });
  }

  /** Ends the demo, which removes its folder. */
  async stop(): Promise<void> {
    if (this.process.exitCode !== null) return;
    const gone = new Promise((resolve) => this.process.once("exit", resolve));
    this.process.kill("SIGTERM");
    await gone;
  }

  private async ask(path: string, how?: RequestInit): Promise<Response> {
    const answer = await fetch(this.address + path, how);
    if (!answer.ok)
      throw new Error(`${how?.method ?? "GET"} ${path}: ${answer.status} ${await answer.text()}`);
    return answer;
  }
}
