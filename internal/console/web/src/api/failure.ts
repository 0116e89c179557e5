/** The kind of a failure. Pages show the kinds in different ways. */
export type FailureKind =
  "offline" | "unauthorised" | "forbidden" | "missing" | "conflict" | "invalid" | "busy" | "error";

/** A fault in one part of a request. */
export interface Fault {
  location?: string;
  message: string;
}

interface Problem {
  code?: string;
  detail?: string;
  title?: string;
  requestId?: string;
  errors?: Fault[];
}

/** An answer of the API that is not a success, or a request without an answer. */
export class Failure extends Error {
  constructor(
    readonly kind: FailureKind,
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly faults: readonly Fault[] = [],
    readonly requestId = "",
  ) {
    super(detail);
    this.name = "Failure";
  }

  /** Reads the problem (RFC 9457) of an answer. */
  static async of(response: Response): Promise<Failure> {
    let problem: Problem = {};
    try {
      problem = (await response.json()) as Problem;
    } catch {
      // a proxy between the browser and the server answered
    }
    const detail = problem.detail ?? problem.title ?? `${response.status} ${response.statusText}`;
    const { code = "unknown", errors = [], requestId = "" } = problem;
    return new Failure(kindOf(response.status), response.status, code, detail, errors, requestId);
  }

  /** Turns a thrown value into a Failure. */
  static from(thrown: unknown): Failure {
    if (thrown instanceof Failure) return thrown;
    return new Failure("error", 0, "unknown", thrown instanceof Error ? thrown.message : String(thrown));
  }
}

function kindOf(status: number): FailureKind {
  switch (status) {
    case 401:
      return "unauthorised";
    case 403:
      return "forbidden";
    case 404:
      return "missing";
    case 409:
      return "conflict";
    case 400:
    case 413:
    case 422:
      return "invalid";
    case 429:
    case 502:
    case 503:
    case 504:
      return "busy";
  }
  return "error";
}
