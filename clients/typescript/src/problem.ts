import type { components } from "./schema.js";

export type Problem = components["schemas"]["Problem"];

/** An answer of the service that is not a success. The code is empty if something else has answered, such as a proxy. */
export class ProblemError extends Error {
  readonly status: number;
  readonly code: string;
  readonly problem: Problem | undefined;
  /** The pause that the answer asks for, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(response: Response, body: unknown) {
    const problem = isProblem(body) ? body : undefined;
    super(problem ? `the server answers ${response.status} ${problem.code}: ${problem.detail}` : `the server answers ${response.status} ${response.statusText}`);
    this.name = "ProblemError";
    this.status = response.status;
    this.code = problem?.code ?? "";
    this.problem = problem;
    this.retryAfterMs = retryAfter(response.headers.get("Retry-After"));
  }
}

function isProblem(body: unknown): body is Problem {
  return typeof body === "object" && body !== null && "code" in body && typeof body.code === "string";
}

/** Parses the header, which has seconds or a date. */
function retryAfter(header: string | null): number | undefined {
  if (header === null) return undefined;
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}

/** Tells whether a repeated request may succeed: there was no answer, or the service cannot answer now. */
export function isTemporary(error: unknown): boolean {
  if (error instanceof ProblemError) return error.status >= 500 || error.status === 429 || error.status === 408;
  // fetch throws a TypeError without an answer, and a SyntaxError for incomplete JSON.
  return error instanceof TypeError || error instanceof SyntaxError || (error instanceof DOMException && error.name === "TimeoutError");
}
