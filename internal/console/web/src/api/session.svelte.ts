import { Failure } from "./failure";
import type { components, operations } from "./schema";

/** An operation of the public API, by its id. */
export type Operation = keyof operations;

/** The caller to whom the token belongs, as GET /me returns it. */
export type Me = components["schemas"]["Me"];

const key = "tallyman.token";

/**
 * starting: the server has not answered yet. out: a user must log in. in: `me` is known. unreachable: the server does
 * not answer, or answers with another error.
 */
export type SessionState = "starting" | "out" | "in" | "unreachable";

/**
 * The user of the console and the token. The token is in the tab's session storage: it survives a reload and ends with
 * the tab. If the server asks for no token, nobody has to log in.
 */
class Session {
  token = $state<string>(sessionStorage.getItem(key) ?? "");
  me = $state.raw<Me>();
  /** When the server returned `me`, by the browser's clock in ms. */
  asked = $state(Date.now());
  state = $state<SessionState>("starting");
  /** The token has ended, and the user must log in again. */
  ended = $state(false);

  /** Asks the server to whom the token belongs. */
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

  /** Logs in with a token. Throws a Failure if the server does not accept the token. */
  async login(token: string): Promise<void> {
    const me = await this.#ask(token);
    sessionStorage.setItem(key, token);
    Object.assign(this, { token, me, asked: Date.now(), state: "in", ended: false });
  }

  logout(): void {
    this.#forget();
    this.ended = false;
  }

  /**
   * Ends the session, because the server refuses the token: the token has expired or was revoked. Does nothing for a
   * token that the session no longer uses.
   */
  refused(token: string): void {
    if (token !== this.token) return;
    this.ended ||= token !== "";
    this.#forget();
  }

  /** Returns whether the roles of the token allow an operation. Pages do not show operations that are not allowed. */
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
