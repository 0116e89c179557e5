import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll } from "vitest";

/** The other end of webhooks: it answers each path with the status that the test has set. */
export class Receiver {
  /** The status for each path; 204 where nothing is set. */
  readonly answers = new Map<string, number>();
  /** How often each path was called. */
  readonly calls = new Map<string, number>();
  private constructor(private readonly server: Server) {}

  static async start(): Promise<Receiver> {
    const server = createServer();
    const receiver = new Receiver(server);
    server.on("request", (request, response) => {
      const path = request.url ?? "";
      receiver.calls.set(path, (receiver.calls.get(path) ?? 0) + 1);
      request.resume();
      response.writeHead(receiver.answers.get(path) ?? 204).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    afterAll(() => void server.close());
    return receiver;
  }

  /** The configuration of a webhook that calls a path of it. */
  hook(name: string, more = ""): string {
    const { port } = this.server.address() as AddressInfo;
    return `  ${name}: {type: webhook, url: "http://127.0.0.1:${port}/${name}", allow_private: true${more}}\n`;
  }
}
