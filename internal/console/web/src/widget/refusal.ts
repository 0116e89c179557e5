import type { Trouble } from "./types";

/** A request without an answer, or with an answer that is not a success. */
export class Refusal extends Error {
  override name = "Refusal";

  constructor(
    readonly trouble: Trouble,
    message: string,
    /** The status; 0: there was no answer. */
    readonly status = 0,
    /** The stable code of the problem. */
    readonly code = "",
    /** The pause for which the server asks, in ms. */
    readonly retryAfter?: number,
  ) {
    super(message);
  }

  /** Reads the problem (RFC 9457) of an answer. */
  static async of(answer: Response): Promise<Refusal> {
    const { status } = answer;
    const problem = (await answer.json().catch(() => ({}))) as { code?: string; detail?: string };
    const trouble = status === 401 ? "unauthorised" : status === 403 ? "forbidden" : "error";
    const after = Number(answer.headers.get("Retry-After") ?? NaN);
    return new Refusal(
      trouble,
      problem.detail ?? `${status} ${answer.statusText}`,
      status,
      problem.code,
      after >= 0 ? after * 1000 : undefined,
    );
  }

  /** Turns a thrown value into a Refusal. fetch throws if there is no answer, or no answer that this page may see. */
  static from(thrown: unknown, online: boolean): Refusal {
    if (thrown instanceof Refusal) {
      return thrown;
    }
    return new Refusal(
      online ? "blocked" : "offline",
      String(thrown instanceof Error ? thrown.message : thrown),
    );
  }
}
