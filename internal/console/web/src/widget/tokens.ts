import { Refusal } from "./refusal";

/** Gives a token for the API: one of Tallyman's own or a JWT. */
export type TokenProvider = () => string | null | undefined | Promise<string | null | undefined>;

/** How long before a token expires a new one is asked for, in ms. */
const early = 30_000;

/** Claims of a JWT that differ from one token to the next of the same user. */
const fleeting = ["exp", "iat", "nbf", "jti", "auth_time", "nonce", "at_hash", "sid"];

/** Keeps the token that the page's provider gave, and asks the provider again when a new token is needed. */
export class Tokens {
  private token: Promise<string> | undefined;
  private until = Infinity;

  constructor(
    private readonly provider: TokenProvider,
    /** Called with each token that the provider gives. */
    private readonly given: (token: string) => void = () => undefined,
    /** A token that the provider has just given. */
    private fresh: string | undefined = undefined,
  ) {}

  /** Returns the token; empty if the page has no provider. A server without authentication takes an empty token. */
  get(): Promise<string> {
    if (!this.token || this.expiresIn() <= 0) {
      const asked = this.ask();
      this.token = asked;
      asked.catch(() => this.drop(asked));
    }
    return this.token;
  }

  /** Returns in how many ms a new token is needed. */
  expiresIn(): number {
    return this.until - Date.now();
  }

  /** Forgets the token: the server does not take it any more. */
  forget(): void {
    this.token = undefined;
  }

  private drop(asked: Promise<string>): void {
    if (this.token === asked) {
      this.forget();
    }
  }

  private async ask(): Promise<string> {
    let token = "";
    try {
      token = this.fresh ?? (await this.provider()) ?? "";
      this.fresh = undefined;
    } catch (err) {
      throw new Refusal("unauthorised", err instanceof Error ? err.message : String(err));
    }
    this.given(token);
    const expires = claims(token)["exp"];
    this.until =
      typeof expires === "number" ? Math.max(expires * 1000 - early, Date.now() + 10_000) : Infinity;
    return token;
  }
}

/** Returns the claims of a JWT, unchecked; none for any other token. */
export function claims(token: string): Record<string, unknown> {
  try {
    const payload = (token.split(".")[1] ?? "").replace(/-/g, "+").replace(/_/g, "/");
    const bytes = Uint8Array.from(atob(payload), (char) => char.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/**
 * Returns the identity of the user of a token, so that tabs share notices with tabs of the same user only. JWTs that an
 * identity provider renews for one user have the same identity. Any other token is its own identity.
 */
export function identity(token: string): string {
  const lasting = Object.entries(claims(token)).filter(([name]) => !fleeting.includes(name));
  return lasting.length > 0 ? JSON.stringify(lasting) : token;
}
