import { readFileSync } from "node:fs";
import {
  createServer,
  type IncomingMessage,
  type Server as HTTPServer,
  type ServerResponse,
} from "node:http";
import { extname, join } from "node:path";
import type { AddressInfo } from "node:net";
import { top } from "../support/setup";
import { until } from "../support/until";

/** What a page of the site has. */
export interface PageOptions {
  /** Whose page it is: the site has his token. */
  user?: string;
  lang?: string;
  scheme?: "light" | "dark";
  dir?: "ltr" | "rtl";
  /** More attributes of the element. */
  attributes?: string;
}

const types: Record<string, string> = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript" };

/** A page of another origin that embeds the widget under the strictest policy that it has to live with. */
export class Site {
  /** Tokens by user. A user without one gets an empty answer. */
  readonly tokens: Record<string, string> = {};
  /** How often a page has asked for a token. */
  asked = 0;
  /** Folders of examples, by the first part of their address. */
  readonly folders: Record<string, string> = { example: join(top, "examples/widget") };
  /** The address of the notice server. */
  tallyman = "";

  private constructor(private readonly server: HTTPServer) {}

  static async start(): Promise<Site> {
    const server = createServer((request, answer) => site.serve(request, answer));
    const site = new Site(server.listen(0, "127.0.0.1"));
    await until(() => server.listening, "the site");
    return site;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** The address of a page. */
  page(options: PageOptions = {}): string {
    return `${this.origin}/?${new URLSearchParams({ user: "ann", ...options } as Record<string, string>)}`;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  private serve(request: IncomingMessage, answer: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url ?? "/", this.origin);
    const [, name = "", ...rest] = pathname.split("/");
    const folder = this.folders[name];
    if (folder) {
      // An example says itself what its pages may do. Its server is at another address here.
      const text = readFileSync(join(folder, ...rest), "utf8");
      answer.setHeader("Content-Type", types[extname(pathname)] ?? "text/plain");
      answer.end(text.replaceAll("http://127.0.0.1:8080", this.tallyman));
      return;
    }
    answer.setHeader(
      "Content-Security-Policy",
      `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' ${this.tallyman}; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'`,
    );
    answer.setHeader("Content-Type", `${types[extname(pathname)] ?? "text/html"}; charset=utf-8`);
    switch (pathname) {
      case "/":
        answer.end(page(this.tallyman, Object.fromEntries(searchParams) as PageOptions));
        return;
      case "/token":
        this.asked++;
        answer.end(this.tokens[searchParams.get("user") ?? ""] ?? "");
        return;
      case "/favicon.ico":
        answer.writeHead(204).end();
        return;
      case "/host.js":
        answer.end(script);
        return;
      case "/host.css":
        answer.end(style);
        return;
      case "/widget.js":
        answer.end(readFileSync(join(top, "internal/console/dist/widget.js")));
        return;
    }
    answer.writeHead(404).end();
  }
}

function page(tallyman: string, { user, lang, dir, scheme, attributes }: PageOptions): string {
  return `<!doctype html>
<html lang="${lang ?? "en"}" dir="${dir ?? "ltr"}" class="${scheme ?? "light"}" data-user="${user}">
  <head>
    <meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Host page</title>
    <link rel="stylesheet" href="/host.css">
    <script src="/host.js"></script>
    <script src="/widget.js" defer></script>
  </head>
  <body>
    <header><h1>Warehouse 119240</h1>
      <tallyman-inbox server="${tallyman}" warehouse="W1" token-provider="tallymanToken" ${attributes ?? ""}></tallyman-inbox>
    </header>
    <main><label>Scan <input id="scan"></label></main>
  </body>
</html>`;
}

const script = `window.heard = [];
window.tallymanToken = async () => (await fetch("/token?user=" + document.documentElement.dataset.user)).text();
for (const type of ["tallyman-notice", "tallyman-open", "tallyman-unread"]) {
  addEventListener(type, (event) => {
    window.heard.push({ type, detail: event.detail });
    if (window.keep && type === "tallyman-open") event.preventDefault();
  });
}
`;

const style = `.light { color-scheme: light; background: #f5f7f8; } .dark { color-scheme: dark; background: #101618; color: #e6edef; }
body { margin: 0; font: 15px system-ui, sans-serif; }
header { display: flex; justify-content: space-between; align-items: center; padding: 4px 12px; background: #12343b; color: #fff; }
h1 { font-size: 18px; } main { padding: 20px; }
`;
