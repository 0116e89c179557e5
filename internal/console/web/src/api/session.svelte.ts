import { Failure } from "./failure";
import type { components, operations } from "./schema";

/** An operation of the public API, by its id. */
export type Operation = keyof operations;

/** Who the token belongs to, as GET /me says. */
export type Me = components["schemas"]["Me"];

const key = "tallyman.token";

/** starting: not asked yet. out: somebody must log in. in: `me` is known. unreachable: the server does not answer. */
export type SessionState = "starting" | "out" | "in" | "unreachable";

/**
 * Who is at the console. The token lives in the tab's session storage: it survives a reload and ends with the tab.
 * Where the server asks for none, nobody has to log in.
 */
class Session {
  token = $state<string>(sessionStorage.getItem(key) ?? "");
  me = $state.raw<Me>();
  /** When the server told that, by the browser's clock. */
  asked = $state(Date.now());
  state = $state<SessionState>("starting");
  /** Why somebody has to log in again. */
  ended = $state(false);

  /** Asks the server who we are. */
  async start(): Promise<void> {
    const { token } = this;
    try {
      this.me = await this.#ask(token);
      this.asked = Date.now();
      this.state = "in";
    } catch (thrown) {
      const failure = Failure.from(thrown);
      if (failure.kind === "unauthorised" || failure.kind === "forbidden") this.refused(token);
      else this.state = "unreachable";
    }
  }

  /** Takes a token; throws a Failure where it is not taken. */
  async login(token: string): Promise<void> {
    const me = await this.#ask(token);
    sessionStorage.setItem(key, token);
    Object.assign(this, { token, me, asked: Date.now(), state: "in", ended: false });
  }

  logout(): void {
    this.#forget();
    this.ended = false;
  }

  /** The server took a token no longer: it has expired, or was revoked. One that nobody uses now does not matter. */
  refused(token: string): void {
    if (token !== this.token) return;
    this.ended ||= token !== "";
    this.#forget();
  }

  /** Whether the roles of the token allow an operation. What is not allowed is not shown. */
  may(operation: Operation): boolean {
    return this.me?.may.includes(operation) ?? false;
  }

  /** Whether the token is for every warehouse. */
  get everywhere(): boolean {
    return this.me?.warehouses.includes("*") ?? false;
  }

  #forget(): void {
    sessionStorage.removeItem(key);
    Object.assign(this, { token: "", me: undefined, state: "out" });
  }

  async #ask(token: string): Promise<Me> {
    const headers: Record<string, string> = { Accept: "application/json" };
    if (token) headers["Authorization"] = `Bearer ${token}`;
    let response: Response;
    try {
      response = await fetch("/api/v1/me", { headers });
    } catch (error) {
      throw new Failure("offline", 0, "unreachable", String(error));
    }
    if (!response.ok) throw await Failure.of(response);
    return (await response.json()) as Me;
  }
}

export const session = new Session();
