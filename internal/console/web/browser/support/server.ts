import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { inject } from "vitest";
import type { components } from "../../src/api/schema";
import { top } from "./setup";
import { until } from "./until";

export type Notice = components["schemas"]["Notice"];
export type SendNotice = components["schemas"]["SendNotice"];

/** What a server is started with. */
export interface ServerOptions {
  /** Origins of pages that may call. */
  origins?: string[];
  /** Rule files by name. */
  rules?: Record<string, string>;
  /** Other files beside the configuration, by name. */
  files?: Record<string, string>;
  /** The section auth; API tokens alone by default. */
  auth?: string;
  /** More of the configuration: top-level keys that the defaults below do not have. */
  config?: string;
}

/** Who a token is for. */
export interface TokenAsk {
  subject: string;
  access?: string[];
  subscribers?: string[];
  warehouses?: string[];
}

/** A `tallyman serve` of its own, with token authentication, an SQLite ledger and the embedded index, in a temporary folder. */
export class Server {
  /** The secret of an admin's token. */
  admin = "";
  private process: ChildProcess | undefined;
  private log = "";

  private constructor(
    private readonly folder: string,
    /** Its port on 127.0.0.1, the same after a restart. */
    readonly port: number,
  ) {}

  /** Its address, without a slash at the end. */
  get address(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  static async start(options: ServerOptions = {}): Promise<Server> {
    const server = new Server(mkdtempSync(join(tmpdir(), "tallyman-web-")), await freePort());
    mkdirSync(join(server.folder, "rules"));
    for (const [name, text] of Object.entries(options.rules ?? {})) {
      writeFileSync(join(server.folder, "rules", name), text);
    }
    for (const [name, text] of Object.entries(options.files ?? {})) {
      writeFileSync(join(server.folder, name), text);
    }
    writeFileSync(server.configFile, configuration(server.port, options));
    server.admin = await server.firstToken();
    await server.up();
    return server;
  }

  /** Writes a file beside the configuration, such as rules/stock.yaml, which the server then reads again. */
  write(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text);
  }

  private get configFile(): string {
    return join(this.folder, "tallyman.yaml");
  }

  /** The first token is made in the ledger itself, before the server has it open. */
  private async firstToken(): Promise<string> {
    const { stdout } = await promisify(execFile)(inject("tallyman"), [
      "tokens",
      "create",
      "--config",
      this.configFile,
      "--subject",
      "user:root",
      "--access",
      "admin",
      "--warehouse",
      "*",
    ]);
    return stdout.trim();
  }

  /** Starts the program and waits until it is ready. */
  async up(): Promise<void> {
    const child = spawn(inject("tallyman"), ["serve", "--config", this.configFile], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.process = child;
    child.stdout.on("data", (chunk: Buffer) => (this.log += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (this.log += chunk.toString()));
    await until(async () => {
      if (child.exitCode !== null) {
        throw new Error(`tallyman serve has ended:\n${this.log}`);
      }
      return (await fetch(`${this.address}/readyz`).catch(() => undefined))?.ok;
    }, "the server to be ready");
  }

  /** Ends the program; its data stay. */
  async down(): Promise<void> {
    const child = this.process;
    this.process = undefined;
    if (!child || child.exitCode !== null) {
      return;
    }
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await gone;
  }

  /** The last lines of what the program has logged. */
  logged(): string {
    return this.log.split("\n").slice(-60).join("\n");
  }

  /** Ends the program and starts it again, on the same port and data. */
  async restart(): Promise<void> {
    await this.down();
    await this.up();
  }

  /** Ends the program and removes its data. */
  async stop(): Promise<void> {
    await this.down();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Calls the API as the admin, or with another token; throws what is not a success. */
  async call<T = unknown>(method: string, path: string, body?: unknown, token = this.admin): Promise<T> {
    const answer = await fetch(this.address + path, {
      method,
      headers: {
        Authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) {
      throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    }
    return (answer.headers.get("Content-Type")?.includes("json") ? JSON.parse(text) : text) as T;
  }

  /** Makes a token and returns its secret. */
  async token(ask: TokenAsk): Promise<string> {
    const made = await this.call<{ secret: string }>("POST", "/api/v1/tokens", {
      access: ["client"],
      warehouses: ["*"],
      ...ask,
    });
    return made.secret;
  }

  /** Sends notices as a business system does and returns their ids. */
  async send(...notices: SendNotice[]): Promise<string[]> {
    const sent = await this.call<{ notices: { id: string }[] }>("POST", "/api/v1/notices", { notices });
    return sent.notices.map((notice) => notice.id);
  }

  /** Reads one series of /metrics, named with its labels; 0 where it is not there. */
  async metric(series: string): Promise<number> {
    const text = await this.call<string>("GET", "/metrics");
    const line = text.split("\n").find((each) => each.startsWith(series + " "));
    return line ? Number(line.slice(series.length + 1)) : 0;
  }
}

function configuration(port: number, options: ServerOptions): string {
  return `http:
  listen: "127.0.0.1:${port}"
  cors: {origins: ${JSON.stringify(options.origins ?? [])}}
auth: ${options.auth ?? "{mode: token}"}
redis: {url: embedded}
ledger: {url: "sqlite:tallyman.db"}
rules: {paths: [rules]}
types: {path: ${JSON.stringify(join(top, "configs/types.yaml"))}}
${options.config ?? "sinks: {inbox: {type: inbox}}\n"}`;
}

/**
 * Finds a port that nobody listens on, below those that systems hand out by themselves: a server that is down for a moment
 * finds its own still free. The tests in Go, which run at the same time, pick theirs from 20,000 to 31,999.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 15_000 + Math.floor(Math.random() * 5_000);
    const free = await new Promise<boolean>((resolve) => {
      const probe = createServer();
      probe.once("error", () => resolve(false));
      probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
    });
    if (free) return port;
  }
}
