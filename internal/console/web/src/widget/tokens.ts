import { Refusal } from "./refusal";

/** Gives a token for the API: one of Tallyman's own or a JWT. */
export type TokenProvider = () => string | null | undefined | Promise<string | null | undefined>;

/** A token is asked for anew so long before it expires, in ms. */
const early = 30_000;

/** Claims of a JWT that differ from one token to the next of the same user. */
const fleeting = ["exp", "iat", "nbf", "jti", "auth_time", "nonce", "at_hash", "sid"];

/** Keeps the token that the page's provider gave, and asks it again when that is needed. */
export class Tokens {
  private token: Promise<string> | undefined;
  private until = Infinity;

  constructor(
    private readonly provider: TokenProvider,
    /** Is told each token that the provider gives. */
    private readonly given: (token: string) => void = () => undefined,
    /** A token that the provider has just given. */
    private fresh: string | undefined = undefined,
  ) {}

  /** The token; empty where the page has no provider, which a server without authentication takes. */
  get(): Promise<string> {
    if (!this.token || this.expiresIn() <= 0) {
      const asked = this.ask();
      this.token = asked;
      asked.catch(() => this.drop(asked));
    }
    return this.token;
  }

  /** In how many ms a new one is needed. */
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

/** The claims of a JWT, unchecked; none of any other token. */
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
 * Says who a token is for, so that tabs share what they have with tabs of the same user only. Tokens of one user that an
 * identity provider renews say the same; other tokens stand for themselves.
 */
export function identity(token: string): string {
  const lasting = Object.entries(claims(token)).filter(([name]) => !fleeting.includes(name));
  return lasting.length > 0 ? JSON.stringify(lasting) : token;
}
